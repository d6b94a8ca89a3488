"""Measurements of filmgate on the machine at hand; each leaves a dated report in reports/."""
