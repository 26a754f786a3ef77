"""A memory behind a service: `Hindsight("http://localhost:8888")`, with the API of every other."""

from hindsight_integrations.remote.connection import is_url
from hindsight_integrations.remote.engine import remote_class

__all__ = ["is_url", "remote_class"]
