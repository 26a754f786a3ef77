"""Base of the namespaces of a client."""

from __future__ import annotations


class Namespace:
    """The operations on one kind of thing. In a prompt it shows the methods."""

    def __repr__(self) -> str:
        names = {name for name in dir(type(self)) if not name.startswith("_")}
        own = sorted(name for name in names if name[1:] not in names)  # `alist` is `list`
        return f"{type(self).__name__}({', '.join(own)})"
