"""How long tests wait for what ends by itself."""

PATIENT_SECONDS = 300.0
"""For a process that ends within seconds: enough on a machine with many times its load."""
