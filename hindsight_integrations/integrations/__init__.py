"""Adapters to agent frameworks."""
