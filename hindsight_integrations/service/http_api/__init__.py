"""Hindsight's HTTP API, version 1.1, on the engine: what its clients and integrations speak.

Each subject has a module with its routes. `requests` and `answers` have the bodies in the wire's
shape, `refused` what is not offered.
"""

from hindsight_integrations.service.http_api.api import hindsight_api

__all__ = ["hindsight_api"]
