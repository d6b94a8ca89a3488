"""What is installed and set, what a difference can do, and a probe that finds the unnamed ones."""
