"""`python -m hindsight_integrations.benchmark`: how fast it is, on this machine."""
