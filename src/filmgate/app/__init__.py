"""Commands and pages: one function per job; each shows the same record on terminal and page."""
