"""Training copies: the same frames at the same times, laid out so that random clips are cheap.

A copy is made by a recipe (how big, which layout, which codec), checked against its source, and
described by a catalog of its own, so that the feed reads it like any other set of videos.
"""
