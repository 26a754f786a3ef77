"""Many items, in batches: each batch is one transaction, and a failing item fails alone."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields

from hindsight_integrations.errors import HindsightError, InvalidInputError
from hindsight_integrations.results import Failed, RetainResult
from hindsight_integrations.retain.draft import RetainParts
from hindsight_integrations.retain.pipeline import retain
from hindsight_integrations.retain.request import Item, Submission, text_submission
from hindsight_integrations.storage.requests import (
    StoredBank,
)

Progress = Callable[[int, int | None], None]

_ITEM_FIELDS = frozenset(field.name for field in fields(Item))


def check_many(items: object) -> None:
    """Raise `InvalidInputError` if `items` is a single item, or nothing to go through."""
    if isinstance(items, str | Mapping | Item) or not isinstance(items, Iterable):
        raise InvalidInputError(
            f"items is a single {type(items).__name__}; give a list of items, or call retain"
        )


def retain_many(
    parts: RetainParts,
    bank: StoredBank,
    items: Iterable[Item | Mapping[str, object] | str],
    progress: bool | Progress | None,
) -> RetainResult:
    """Store the items; those that fail are reported, the others are stored."""
    total = len(items) if isinstance(items, Sequence) else None
    results: list[RetainResult] = []
    failed: list[Failed] = []
    done = 0
    with _reporting(progress, total) as report:
        for group in _groups(items, parts, failed):
            results.append(_store(parts, bank, group))
            done = group[-1][0] + 1
            report(done, total)
    unread = RetainResult(bank.bank.id, failed=tuple(failed))
    return RetainResult.merged(bank.bank.id, [*results, unread])


def _groups(
    items: Iterable[Item | Mapping[str, object] | str],
    parts: RetainParts,
    failed: list[Failed],
) -> Iterator[list[tuple[int, Submission]]]:
    """Batches in which no two items are of the same document."""
    group: list[tuple[int, Submission]] = []
    documents: set[str] = set()
    for index, item in enumerate(items):
        try:
            submission = text_submission(as_item(item, index), parts.settings.max_content_chars)
        except HindsightError as error:
            failed.append(Failed(index, error))
            continue
        if len(group) >= parts.settings.batch_size or submission.document_id in documents:
            yield group
            group, documents = [], set()
        group.append((index, submission))
        documents.add(submission.document_id)
    if group:
        yield group


def _store(
    parts: RetainParts, bank: StoredBank, group: Sequence[tuple[int, Submission]]
) -> RetainResult:
    """A batch; if it fails, its halves, down to the item that is at fault."""
    try:
        return retain(parts, bank, [submission for _, submission in group])
    except HindsightError as error:
        if len(group) == 1:
            return RetainResult(bank.bank.id, failed=(Failed(group[0][0], error),))
    middle = len(group) // 2
    halves = group[:middle], group[middle:]
    return RetainResult.merged(bank.bank.id, [_store(parts, bank, half) for half in halves])


def as_item(given: Item | Mapping[str, object] | str, index: int) -> Item:
    """The `index`th of the items given, as an `Item`. Raises `InvalidInputError`."""
    if isinstance(given, Item):
        return given
    if isinstance(given, str):
        return Item(given)
    if isinstance(given, Mapping):
        if unknown := sorted(set(given) - _ITEM_FIELDS):
            raise InvalidInputError(
                f"items[{index}] has the unknown fields {unknown}; "
                f"the fields are {sorted(_ITEM_FIELDS)}"
            )
        if "content" not in given:
            raise InvalidInputError(f"items[{index}] has no 'content'; give the text to retain")
        return Item(**given)  # type: ignore[arg-type]
    raise InvalidInputError(
        f"items[{index}] is a {type(given).__name__}; give a text, an Item or a mapping"
    )


@contextmanager
def _reporting(progress: bool | Progress | None, total: int | None) -> Iterator[Progress]:
    """A progress bar, the caller's function, or nothing."""
    if callable(progress):
        yield progress
    elif progress:
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeRemainingColumn

        columns = ("[progress.description]{task.description}", BarColumn(), MofNCompleteColumn())
        with Progress(*columns, TimeRemainingColumn()) as bar:
            task = bar.add_task("Retaining", total=total)
            yield lambda done, of: bar.update(task, completed=done, total=of)
    else:
        yield lambda done, of: None
