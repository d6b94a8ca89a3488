"""Acceptance: each line of what filmgate promises, measured through its command line.

A check is a function with a name, a line of text and a bar; see ``check.py``. Checks live in
modules by subject, which ``__main__.py`` lists.
"""
