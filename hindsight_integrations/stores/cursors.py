"""Cursors of pages, which name the last item shown.

`m12` is the twelfth memory stored, `e3:e-9f` the entity `e-9f`, which three memories mention,
`d:notes.md` the document `notes.md`.
"""

from __future__ import annotations

from hindsight_integrations.errors import InvalidInputError

_DIGITS = 13
"""Most digits of a memory's number: no bank has stored so many."""


def memory_cursor(sequence: int) -> str:
    """Return the cursor of a page that ends with the memory of this number in storing order."""
    return f"m{sequence}"


def after_memory(cursor: str | None) -> int:
    """Return the number that `memory_cursor` was given; 0 for the first page.

    Raises:
        InvalidInputError: `memory_cursor` did not make it.
    """
    if cursor is None:
        return 0
    digits = cursor.removeprefix("m")
    if cursor[:1] != "m" or not _is_number(digits) or len(digits) > _DIGITS:
        raise _foreign(cursor)
    return int(digits)


def entity_cursor(mention_count: int, id: str) -> str:
    """Return the cursor of a page that ends with this entity, the most mentioned first."""
    return f"e{mention_count}:{id}"


def after_entity(cursor: str | None) -> tuple[int | None, str]:
    """Return the mentions and id that `entity_cursor` was given; (None, "") for the first page.

    Raises:
        InvalidInputError: `entity_cursor` did not make it.
    """
    if cursor is None:
        return None, ""
    count, colon, id = cursor.removeprefix("e").partition(":")
    if cursor[:1] != "e" or not colon or not _is_number(count):
        raise _foreign(cursor)
    return int(count), id


def document_cursor(id: str) -> str:
    """Return the cursor of a page that ends with this document, in order of id."""
    return f"d:{id}"


def after_document(cursor: str | None) -> str:
    """Return the id that `document_cursor` was given; "" for the first page.

    Raises:
        InvalidInputError: `document_cursor` did not make it.
    """
    if cursor is None:
        return ""
    if not cursor.startswith("d:"):
        raise _foreign(cursor)
    return cursor.removeprefix("d:")


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdecimal()


def _foreign(cursor: str) -> InvalidInputError:
    return InvalidInputError(
        f"{cursor!r} is not a cursor of this list; give one that it returned, or none"
    )
