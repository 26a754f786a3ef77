"""A service that opens a memory once and gives it to many programs over HTTP.

`hindsight-memory serve` runs it; it needs `pip install "hindsight-integrations[service]"`.
"""
