"""Cut a Markdown note into sections: each list item, and the text under each heading.

A section's headings are not part of its text; they become its context. Fields of the front matter
become metadata. Sections are whole lines of the note, so that a memory is found again in its file.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cache
from itertools import accumulate, zip_longest
from typing import TYPE_CHECKING

from hindsight_integrations import validation
from hindsight_integrations.errors import InvalidInputError
from hindsight_integrations.models import Metadata
from hindsight_integrations.retain.file_dates import FRONT_MATTER

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

HEADING_CHARS = 120
"""Longest part of a heading that is repeated as the context of what stands below it."""

MAX_FIELDS = 100
"""Fields of a front matter that are read: leaves room for a caller's own metadata."""

_MARKS = " \t\n*_`#"


@dataclass(frozen=True, slots=True)
class MarkdownSection:
    """Whole lines of a note.

    Attributes:
        start: offset of the text in the note.
        headings: of the headings above it, outermost first; and last the line that leads into its
            list ("Decisions:").
    """

    text: str
    start: int
    headings: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Block:
    """Lines [start, end) of a note; `level` is that of a heading, 0 for other blocks."""

    start: int
    end: int
    level: int = 0
    words: str = ""
    is_item: bool = False


def markdown_sections(text: str) -> list[MarkdownSection]:
    """Return the sections of a note, in order, without front matter and what has no word in it.

    A heading with nothing below it is a section itself: people write notes that are only headings.
    """
    lines = text.splitlines(keepends=True)
    offsets = [0, *accumulate(map(len, lines))]
    skipped = len(text[: _body_start(text)].splitlines())
    blocks = [
        block
        for block in _blocks(lines, skipped)
        if any(map(str.isalnum, "".join(lines[block.start : block.end])))
    ]
    headings: list[_Block] = []
    lead: tuple[str, ...] = ()
    found: list[MarkdownSection] = []
    for block, following in zip_longest(blocks, blocks[1:]):
        own = "".join(lines[block.start : block.end])
        if block.level:
            lead = ()
            headings = [heading for heading in headings if heading.level < block.level]
        elif not block.is_item:
            own, lead = _split_lead_in(own, following)
        above = (*(heading.words for heading in headings), *(lead if block.is_item else ()))
        if block.level:
            headings.append(block)
        if any(map(str.isalnum, own)) and not _opens(block, following):
            found.append(MarkdownSection(own, offsets[block.start], above))
    return found


def _opens(block: _Block, following: _Block | None) -> bool:
    """Return True for a heading with something below it, which carries all its words."""
    if not block.level or following is None or len(block.words) == HEADING_CHARS:
        return False
    return not following.level or following.level > block.level


def front_matter(text: str) -> Metadata:
    """Return the fields of a note's front matter that metadata can hold.

    Lists of plain values become text joined by commas, dates ISO 8601. Nested values, empty ones
    and those beyond the limits of metadata have no such form and are left out.
    """
    fields = _fields(text) or {}
    kept: dict[str, str | int | float | bool] = {}
    for name, value in [*fields.items()][:MAX_FIELDS]:
        try:
            kept.update(validation.metadata({str(name): _plain(value)}))
        except InvalidInputError:
            continue  # see the docstring
    return kept


def _body_start(text: str) -> int:
    """Return the offset behind the front matter; one that cannot be read is text like any other."""
    match = FRONT_MATTER.match(text)
    return match.end() if match and _fields(text) is not None else 0


def _fields(text: str) -> Mapping[object, object] | None:
    """Return the front matter: YAML between "---", or TOML between "+++"; None if it is neither."""
    match = FRONT_MATTER.match(text)
    if match is None:
        return None
    import yaml  # loaded for notes with front matter alone

    try:
        toml = match["fence"] == "+++"
        read: Callable[[str], object] = tomllib.loads if toml else yaml.safe_load
        fields = read(match["fields"])
    except (yaml.YAMLError, ValueError, RecursionError):
        return None
    return fields if isinstance(fields, Mapping) else None


def _plain(value: object) -> object:
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, list) and all(isinstance(item, str | int | float) for item in value):
        return ", ".join(map(str, value)) or None
    return value


@cache
def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt  # loaded for the first note

    return MarkdownIt("commonmark")


def _blocks(lines: Sequence[str], skipped: int) -> Iterator[_Block]:
    """Yield headings, list items, and all that stands between two of them as one block."""
    # A line break of its own for each line, as `splitlines` sees them: the parser knows fewer.
    text = "\n".join(line.rstrip("\r\n\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029") for line in lines)
    body = text.split("\n", skipped)[-1] if skipped < len(lines) else ""
    tokens = _parser().parse(body)
    last = skipped
    for index in range(len(tokens)):
        block = _block(tokens, index, skipped)
        if block is None:
            continue
        if block.start > last and "".join(lines[last : block.start]).strip():
            yield _Block(last, block.start)
        yield block
        last = block.end
    if last < len(lines) and "".join(lines[last:]).strip():
        yield _Block(last, len(lines))


def _block(tokens: Sequence[Token], index: int, skipped: int) -> _Block | None:
    """Return the heading or item of a list that opens at a token, if it is not inside another."""
    token = tokens[index]
    if token.map is None:
        return None
    start, end = (line + skipped for line in token.map)
    if token.type == "heading_open" and token.level == 0:
        words = " ".join(tokens[index + 1].content.split()).strip(_MARKS)[:HEADING_CHARS]
        return _Block(start, end, int(token.tag[1:]), words)
    if token.type == "list_item_open" and token.level == 1:
        return _Block(start, end, is_item=True)
    return None


def _split_lead_in(text: str, following: _Block | None) -> tuple[str, tuple[str, ...]]:
    """Split off a last line that stands apart, ends in a colon and leads into a list.

    Returns:
        The text before it, and its words; the whole text and no words if there is no such line.
    """
    before, line = _last_line(text)
    words = line.strip(_MARKS)
    leads = following is not None and following.is_item and words.endswith(":")
    if not leads or _ends_in_line(before) or len(words) > HEADING_CHARS:
        return text, ()
    return before, (words.rstrip(":").strip(_MARKS),)


def _last_line(text: str) -> tuple[str, str]:
    """Split a text before its last line that is not blank."""
    lines = text.rstrip().splitlines(keepends=True)
    return "".join(lines[:-1]), "".join(lines[-1:])


def _ends_in_line(text: str) -> bool:
    """Return True if no blank line ends the text."""
    return bool(text) and bool(text.splitlines()[-1].strip())
