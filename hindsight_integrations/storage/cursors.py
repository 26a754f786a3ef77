"""Cursors of pages, the same in every store: the last item shown, so that the next page follows it.

`m12` is the twelfth memory stored; `e3:e-9f` the entity `e-9f`, which three memories mention.
"""

from __future__ import annotations

from hindsight_integrations.errors import InvalidInputError

_DIGITS = 13
"""Digits of a memory's number, at most: no bank has stored so many."""


def at_memory(sequence: int) -> str:
    """The cursor of a page that ends with the memory of this number, in storing order."""
    return f"m{sequence}"


def memory_at(cursor: str | None) -> int:
    """The number that `at_memory` was given; 0 for the first page.

    Raises:
        InvalidInputError: `at_memory` did not make it.
    """
    if cursor is None:
        return 0
    digits = cursor.removeprefix("m")
    if cursor[:1] != "m" or not _is_number(digits) or len(digits) > _DIGITS:
        raise _foreign(cursor)
    return int(digits)


def at_entity(mention_count: int, id: str) -> str:
    """The cursor of a page that ends with this entity, the most mentioned first."""
    return f"e{mention_count}:{id}"


def entity_at(cursor: str | None) -> tuple[int | None, str]:
    """The mentions and id that `at_entity` was given; (None, "") for the first page.

    Raises:
        InvalidInputError: `at_entity` did not make it.
    """
    if cursor is None:
        return None, ""
    count, colon, id = cursor.removeprefix("e").partition(":")
    if cursor[:1] != "e" or not colon or not _is_number(count):
        raise _foreign(cursor)
    return int(count), id


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdecimal()


def _foreign(cursor: str) -> InvalidInputError:
    return InvalidInputError(
        f"{cursor!r} is no cursor of this list; give one that it returned, or none"
    )
