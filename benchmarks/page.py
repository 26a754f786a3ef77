"""Sections of a Markdown page that are generated, between markers."""

from __future__ import annotations

import os
import re
from pathlib import Path

from hindsight_integrations.errors import InvalidInputError

_NAME = re.compile(r"[a-z0-9][a-z0-9-]*")


def write_section(page: str | os.PathLike[str], name: str, body: str) -> None:
    """Put `body` between `<!-- name:start -->` and `<!-- name:end -->` of a Markdown page.

    A page that does not have the markers gets them at its end; the rest is its author's.

    Raises:
        InvalidInputError: the name is no lower-case word, or the page has only one marker.
    """
    if not _NAME.fullmatch(name):
        raise InvalidInputError(f"section is {name!r}; give a name of a-z, 0-9 and hyphens")
    file = Path(page)
    text = file.read_text(encoding="utf-8") if file.exists() else ""
    start, end = f"<!-- {name}:start -->", f"<!-- {name}:end -->"
    section = f"{start}\n{body.strip()}\n{end}"
    before, has_start, rest = text.partition(start)
    _, has_end, after = rest.partition(end)
    if bool(has_start) != bool(has_end) or end in before:
        raise InvalidInputError(f"{file} has one of {start} and {end}; give it both, in this order")
    if not has_start:
        before, after = (f"{text.rstrip()}\n\n" if text.strip() else ""), "\n"
    file.write_text(f"{before}{section}{after}", encoding="utf-8")
