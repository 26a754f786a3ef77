"""Lazy loading of a package's names, since their modules need a framework."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module

from hindsight_integrations.errors import MissingExtraError


def loader(
    package: str, home_of: Mapping[str, str], installed_by: Mapping[str, str]
) -> Callable[[str], object]:
    """Return a package's `__getattr__`, which imports the module of a name at first use.

    Args:
        package: the package's name.
        home_of: the module within it that each public name comes from.
        installed_by: the argument of `pip install` for each package that may be missing. If one
            is, the function raises `MissingExtraError`.
    """

    def load(name: str) -> object:
        if name not in home_of:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        try:
            value: object = getattr(import_module(f"{package}.{home_of[name]}"), name)
        except ModuleNotFoundError as error:
            missing = (error.name or "").split(".")[0]
            if missing not in installed_by:
                raise
            raise MissingExtraError(
                f"{name} needs {missing}, which is not installed; run: "
                f"pip install {installed_by[missing]}"
            ) from error
        setattr(sys.modules[package], name, value)
        return value

    return load
