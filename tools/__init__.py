"""What keeps the repository: set-up, pins, generated pages. Run as ``python -m tools.NAME``."""
