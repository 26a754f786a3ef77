"""Options by name, which an adapter passes on to a verb at each call."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from inspect import Parameter, signature

from hindsight_integrations.errors import InvalidInputError


def options_of(verb: Callable[..., object]) -> frozenset[str]:
    """Names of what a verb takes beside its bank and what it is about."""
    named = signature(verb).parameters.items()
    return frozenset(name for name, each in named if each.kind is Parameter.KEYWORD_ONLY)


def check_options(given: Iterable[str], known: Iterable[str]) -> None:
    """Refuse, when an adapter is made, an option that would only fail when it is used.

    Raises:
        InvalidInputError: one has a name that is not known.
    """
    if unknown := sorted({*given} - {*known}):
        raise InvalidInputError(
            f"no option is called {unknown[0]!r}; there are {', '.join(sorted(known))}"
        )
