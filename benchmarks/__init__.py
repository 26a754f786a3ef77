"""Measurements of speed and of recall quality. Not part of the installed package."""
