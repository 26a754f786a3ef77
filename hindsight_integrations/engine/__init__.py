"""The engine a user holds. Each verb checks its arguments and hands over to one stage."""

from hindsight_integrations.engine.hindsight import Hindsight

__all__ = ["Hindsight"]
