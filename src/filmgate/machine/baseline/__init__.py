"""A fixed job under one clock, and two of them held against each other."""
