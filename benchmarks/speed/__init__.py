"""`python -m benchmarks.speed`: speed on this machine."""
