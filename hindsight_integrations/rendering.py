"""Render what is remembered so that it can pass for nothing else, to a model or on a screen.

The one place where text of a memory is made safe to show: nothing inside it can look like another
memory, a heading or the end of the part it stands in, and no control sequence reaches a terminal.
"""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Iterable
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderableType, RenderResult

FENCE_TAG = "hindsight-memory"
"""Tag of the marks around recalled text in a prompt."""

FURTHER = "\n  "
"""Start of each further line of an item: a line that is not indented begins the next item."""

_CONTROL = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f"  # C0 and C1, without tab and line feed
    "\u2028\u2029"  # line and paragraph separators
    "\u202a-\u202e\u2066-\u2069]"  # embeddings, overrides and isolates of direction
)
_SHORT = 1000
"""Characters of a text whose item is kept."""

_OPENS_HEADER = re.compile(r"\A[\[\uff3b](?=\s*\d)")
"""A bracket at the start, before a digit: so do the dates look that memories stand under."""

_IGNORABLE = "[\u00ad\u200b-\u200f\u2060-\u2064\ufeff]{0,4}"
"""Characters that no reader sees."""


def visible(text: str) -> str:
    r"""Return the text with control characters as escapes; tabs and line feeds stay.

    The one that starts a terminal sequence becomes "\x1b", one that turns the direction "\u202e".
    """
    return _CONTROL.sub(_escaped, text.replace("\r\n", "\n")) if _CONTROL.search(text) else text


def _escaped(match: re.Match[str]) -> str:
    code = ord(match[0])
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


def as_json(value: object, *, indent: int | None = None) -> str:
    """Return a JSON text that reads the same and holds no control character for a terminal."""
    written = json.dumps(value, ensure_ascii=False, indent=indent)
    return _CONTROL.sub(lambda match: f"\\u{ord(match[0]):04x}", written)


_TEMPLATE = re.compile(
    r"[<\uff1c](?=\s{0,2}[|\uff5c\u2581][^<>\n]{0,40}[|\uff5c]\s{0,2}[>\uff1e])"  # "<|im_start|>"
    r"|<(?=/?s>|</?SYS>|/?(?:start|end)_of_turn>|/?(?:bos|eos)>|/?SYS>)|\[(?=/?INST\])",
    re.IGNORECASE,
)
"""Opening of a control token of a chat template: "<|im_start|>", "[INST]", "<<SYS>>", "</s>"."""

_TAG_CHARACTERS = re.compile(
    "(?<![\U0001f3f4\U000e0020-\U000e007f])[\U000e0000-\U000e007f]+"  # after a flag: a region
)
"""Characters that a model reads and nobody sees."""


def as_item(text: str) -> str:
    """Return a text as one item of a list: further lines are indented, blank ones left out.

    A bracket that could open a date header, a mark around recalled text or a control token of a
    chat template becomes "‹"; invisible letters become "\ufffd".
    """
    return _short_item(text) if len(text) <= _SHORT else _item(text)


def _item(text: str) -> str:
    text = _TAG_CHARACTERS.sub("\ufffd", without_tags(text, (FENCE_TAG,)))
    text = _TEMPLATE.sub("‹", text)
    lines = [visible(line) for line in text.strip().splitlines() if line.strip()]
    return _OPENS_HEADER.sub("‹", FURTHER.join(lines))


_short_item = lru_cache(4096)(_item)  # recall renders the lines of a bank again and again


def as_line(text: str) -> str:
    """Return a text as one line, for a field such as the name of a speaker."""
    return visible(" ".join(text.split()))


def without_tags(text: str, names: Iterable[str]) -> str:
    """Return the text with the brackets of these tags as "‹", however they are written.

    Blanks and invisible characters in a tag, wide brackets and entities make no difference.
    """
    return _tags(tuple(names)).sub("‹", text)


@lru_cache
def _tags(names: tuple[str, ...]) -> re.Pattern[str]:
    between = r"[\s\u00ad\u200b-\u200f\u2060-\u2064\ufeff]{0,8}"
    spelled = "|".join(_IGNORABLE.join(map(re.escape, name)) for name in names)
    return re.compile(
        rf"(?:[<\uff1c\ufe64]|&lt;?|&#0{{0,6}}60;?|&#x0{{0,6}}3c;?)"
        rf"(?={between}[/\uff0f\\]?{between}(?:{spelled})(?!\w))",
        re.IGNORECASE,
    )


class Visible:
    """Something for rich to draw, with the control characters of its text made visible."""

    def __init__(self, drawing: RenderableType) -> None:
        self._drawing = drawing

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Draw it; what rich itself sends to the terminal passes."""
        for segment in console.render(self._drawing, options):
            if segment.control:
                yield segment
            else:
                yield segment._replace(text=visible(segment.text))


class VisibleRecords(logging.Filter):
    """Make control characters in log messages visible."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Change the record; all pass."""
        record.msg, record.args = visible(record.getMessage()), None
        if record.exc_info and not record.exc_text:
            record.exc_text = visible(logging.Formatter().formatException(record.exc_info))
        return True


def show_controls_in_logs(name: str) -> None:
    """Make control characters visible in all that is logged under a name."""
    logging.getLogger(name).addFilter(VisibleRecords())
