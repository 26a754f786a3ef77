"""Functions shared by the adapters of all frameworks: verbs, options and texts for models.

Reading never creates a bank: a bank that does not exist is read as an empty one. All text from
memory is fenced (marked), so that it is not retained again as if somebody had said it.
"""

from __future__ import annotations

import contextlib
import logging
import os
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from inspect import Parameter, signature
from typing import Any, Literal, is_typeddict

from hindsight_integrations import validation
from hindsight_integrations.client import Hindsight
from hindsight_integrations.errors import (
    BankNotFoundError,
    DocumentNotFoundError,
    HindsightError,
    InvalidInputError,
    MemoryNotFoundError,
)
from hindsight_integrations.history import Change
from hindsight_integrations.models import Memory, ModelUsage
from hindsight_integrations.nlp.llm import as_model
from hindsight_integrations.nlp.tokens import Tokenizer
from hindsight_integrations.prompts import PROFILED, REMEMBERED
from hindsight_integrations.recall.dated_lines import date_header
from hindsight_integrations.recall.packing import memory_line
from hindsight_integrations.recall.request import DEFAULTS, recall_request
from hindsight_integrations.reflect import answer
from hindsight_integrations.rendering import FURTHER, as_item, as_line
from hindsight_integrations.results import (
    NOTHING_ASKED,
    NOTHING_FOUND,
    Context,
    Failure,
    Recalled,
    RecallResult,
    Reflection,
    RetainResult,
    SkipReason,
)
from hindsight_integrations.retain.fence import fence, strip_fenced
from hindsight_integrations.retain.request import Item, conversation_submission, text_submission

log = logging.getLogger("hindsight_integrations")


HANDFUL = 10
"""Maximum number of memories of a retriever that was given no number."""

OVERFETCH = 2
"""Factor of the token budget that is recalled in a chat, because memories that the chat itself
contains are left out."""

SPEAKERS: Mapping[str, str] = {"user": "user", "assistant": "assistant"}
"""Default roles whose messages are retained, and the name each is retained under."""

OnFailure = Literal["warn", "raise"]
"""Behaviour of a chat adapter if the memory fails: log and continue without it, or raise."""


def check_options(
    given: Mapping[str, Any], takes: Callable[..., object], *, also: Sequence[str] = ()
) -> None:
    """Check the options of an adapter when it is created, not only when it is used.

    By then an agent goes on without its memory, and only its log says so.

    Args:
        given: options by name.
        takes: the verb that takes them by keyword, or a `TypedDict` of those of recall or reflect.
        also: names that the adapter takes itself, for the message.

    Raises:
        InvalidInputError: an option has no such name, or a value that cannot be used.
    """
    if not isinstance(given, Mapping):
        raise InvalidInputError(
            f"the options are {validation.shown(given)}; give a mapping from names to values"
        )
    if is_typeddict(takes):
        known = set(takes.__annotations__)
    else:
        parameters = signature(takes).parameters.values()
        known = {one.name for one in parameters if one.kind is Parameter.KEYWORD_ONLY}
    if unknown := sorted({*given} - known):
        names = [*also, *sorted(known)]
        raise InvalidInputError(
            f"unknown option {unknown[0]!r}; the options are {', '.join(names)}"
            f"{validation.meant(unknown[0], names)}"
        )
    if takes is Hindsight.retain:
        text_submission(Item(_SAMPLE, **given), len(_SAMPLE))
    elif takes is Hindsight.retain_messages:
        shared = Item("", **{name: value for name, value in given.items() if name != "session"})
        conversation_submission((), session=given.get("session"), shared=shared, max_chars=0)
    else:
        _check_search(given)


_SAMPLE = "sample"
"""Bank, text and question of the calls that options are checked for."""


def _check_search(given: Mapping[str, Any]) -> None:
    searching: Any = {name: value for name, value in given.items() if name in DEFAULTS}
    recall_request(_SAMPLE, _SAMPLE, **searching)
    answer.Bounds(
        given.get("max_iterations", answer.ITERATIONS), given.get("timeout", answer.SECONDS)
    )
    if given.get("llm") is not None:
        as_model(given["llm"])
    if given.get("response_schema") is not None:
        answer.as_form(given["response_schema"])


def checked_memory(memory: object) -> Hindsight:
    """Return the `memory` argument of an adapter, if it is an open memory.

    Raises:
        InvalidInputError: it is something else, such as the path of a folder.
    """
    if isinstance(memory, Hindsight):
        return memory
    is_path = isinstance(memory, str | os.PathLike)
    wanted = f"Hindsight({str(memory)!r})" if is_path else 'Hindsight("./memories")'
    raise InvalidInputError(
        f"memory is {validation.shown(memory)}; give an open memory, such as {wanted}"
    )


BRACES = re.compile(r"[{}]")
"""Braces, which mark a placeholder. In a finished bank id they come from a mistyped template."""


def unfilled(what: str, bank_id: str, forms: str) -> InvalidInputError:
    """Return the error for an id of a bank that has a brace which nothing would fill.

    Taken as it is, such an id is one bank that all users share.

    Args:
        what: what has the brace, such as "bank_id".
        bank_id: the id.
        forms: what can be given instead.
    """
    return InvalidInputError(
        f"{what} is {bank_id!r}, and its braces are no placeholder that is filled, so all users "
        f"would share one bank of that name; {forms}"
    )


def returned_bank(bank_id: object) -> str:
    """Return the id of a bank that a function of the program gave.

    Raises:
        InvalidInputError: it is none, or has a brace, as a text has whose `f` was forgotten.
    """
    given = validation.new_bank_id(bank_id)
    if BRACES.search(given):
        raise unfilled("what bank_id returned", given, "return an id without braces")
    return given


def shown_bank(bank_id: object) -> str:
    """Return the argument that names a bank as a representation shows it."""
    if isinstance(bank_id, str | list | tuple):
        return f"bank_id={bank_id!r}"
    return f"bank_id={getattr(bank_id, '__qualname__', type(bank_id).__name__)}()"


def checked_speakers(speakers: object, roles: Iterable[str]) -> dict[str, str]:
    """Return the names of speakers by role.

    Raises:
        InvalidInputError: they are no mapping from some of the roles to names.
    """
    known = [*roles]
    if not isinstance(speakers, Mapping) or not {*speakers} <= {*known}:
        raise InvalidInputError(
            f"speakers is {validation.shown(speakers)}; give a mapping from roles to names, such "
            f'as {{"user": "Alice"}}; the roles are {", ".join(known)}'
        )
    return {str(role): validation.label("a speaker", name) for role, name in speakers.items()}


def report_failure(on_failure: OnFailure, owner: str, action: str, error: HindsightError) -> None:
    """Log that an adapter continues without memory, or raise the error, as `on_failure` says.

    Args:
        on_failure: the adapter's argument.
        owner: the name of the adapter in the log.
        action: what failed, such as "recall in bank 'a'".
        error: the error.
    """
    if on_failure == "raise":
        raise error
    log.warning("%s continues without memory: %s failed: %s", owner, action, error)


def check_picklable(memory: Hindsight | None) -> None:
    """Refuse to pickle an adapter whose memory cannot be pickled; frameworks would leave it out.

    Raises:
        InvalidInputError: the memory is in memory only, without a folder or servers.
    """
    if memory is not None:
        memory.__reduce__()


def recall(
    memory: Hindsight, bank_id: str | Sequence[str], query: str, **options: Any
) -> RecallResult:
    """Call `Hindsight.recall` on those of the banks that exist.

    A blank question finds nothing; see `asks_nothing`. Failed parts of recall, and notes, are
    logged, because an agent reads neither.
    """
    banks = (bank_id,) if isinstance(bank_id, str) else tuple(bank_id)
    if asks_nothing(query, options):
        return RecallResult(banks, query)
    try:
        result = memory.recall(bank_id, query, **options)
    except BankNotFoundError:
        existing = [bank for bank in banks if _exists(memory, bank)]
        if not existing:
            return RecallResult(banks, query)
        result = memory.recall(existing, query, **options)
    _log(result.failures, bank_id)
    for note in result.notes:
        log.warning("a recall in bank %r: %s", bank_id, note)
    return result


def reflect(memory: Hindsight, bank_id: str, query: str, **options: Any) -> Reflection:
    """Call `Hindsight.reflect`; a blank question finds nothing, failed parts are logged."""
    try:
        result = None if asks_nothing(query, options) else memory.reflect(bank_id, query, **options)
    except BankNotFoundError:
        result = None
    if result is None:
        text = nothing_found(query)
        return Reflection(bank_id, query, text, (), Context(bank_id, query), ModelUsage())
    _log(result.failures, bank_id)
    return result


def asks_nothing(query: object, options: Mapping[str, Any]) -> bool:
    """Return True for a blank question without a vector of its own.

    `Hindsight.recall` refuses it. Agents and chains pass one without the program's doing, and
    expect a retriever that finds nothing, so adapters search nothing.
    """
    is_blank = isinstance(query, str) and validation.is_blank(query)
    return is_blank and options.get("query_vector") is None


def nothing_found(query: str) -> str:
    """Return what a model reads if a question found nothing; a blank one is named as the cause."""
    return NOTHING_ASKED if validation.is_blank(query) else NOTHING_FOUND


def forget(memory: Hindsight, bank_id: str, ids: Sequence[str]) -> tuple[str, ...]:
    """Call `Hindsight.forget` with ids.

    Raises:
        InvalidInputError: no id was given.
        MemoryNotFoundError: one of them does not exist; nothing was deleted.
    """
    if not ids:
        raise InvalidInputError("no ids given; give those of memories, as recall shows them")
    try:
        return memory.forget(bank_id, ids)
    except BankNotFoundError as error:
        raise MemoryNotFoundError("this bank does not exist yet; nothing was deleted") from error
    except MemoryNotFoundError as error:  # in words for a model, which sees no bank's id
        said = str(error).removeprefix(f"bank {bank_id!r} has ")
        raise MemoryNotFoundError(f"there is {said}") from error


def forget_document(memory: Hindsight, bank_id: str, document_id: str) -> None:
    """Forget the memories of a document or session, if there are any."""
    with contextlib.suppress(BankNotFoundError, DocumentNotFoundError):
        memory.forget(bank_id, document_id=document_id)


def _exists(memory: Hindsight, bank_id: str) -> bool:
    try:
        memory.banks.get(bank_id)
    except BankNotFoundError:
        return False
    return True


def _log(failures: Iterable[Failure], bank_id: str | Sequence[str]) -> None:
    for failure in failures:
        log.warning("a recall in bank %r continued without %s", bank_id, failure)


# Tools: each verb, with the text that the model reads as its answer


def answer_retain(
    memory: Hindsight, bank_id: str, content: str, **options: Any
) -> tuple[str, RetainResult]:
    """Retain, and return the tool's answer with the result."""
    result = memory.retain(bank_id, content, **options)
    if result.stored:
        text = f"Remembered: {', '.join(result.ids)}"
    elif any(skipped.reason is SkipReason.REFUSED for skipped in result.skipped):
        text = "Not remembered: it was refused."
    else:
        text = "Nothing new in it."
    return text, result


def answer_recall(
    memory: Hindsight, bank_id: str, query: str, **options: Any
) -> tuple[str, RecallResult]:
    """Recall, and return the tool's answer: memories, each with its date and id."""
    result = recall(memory, bank_id, query, **options)
    return fence("\n".join(map(_line, result))) if result else nothing_found(query), result


def answer_reflect(
    memory: Hindsight, bank_id: str, query: str, **options: Any
) -> tuple[str, Reflection]:
    """Reflect, and return the tool's answer with the result."""
    result = reflect(memory, bank_id, query, **options)
    return fence(result.text) if result.context else nothing_found(query), result


def answer_forget(
    memory: Hindsight, bank_id: str, memory_ids: Sequence[str]
) -> tuple[str, tuple[str, ...]]:
    """Forget memories by id, and return the tool's answer with the ids."""
    forgotten = forget(memory, bank_id, memory_ids)
    return f"Forgotten: {', '.join(forgotten)}", forgotten


def answer_correct(
    memory: Hindsight,
    bank_id: str,
    memory_id: str,
    content: str | None = None,
    *,
    said: str | None = None,
    happened: str | None = None,
    **changed: Any,
) -> tuple[str, Memory]:
    """Correct the given fields of a memory, and return the tool's answer with the memory.

    Args:
        memory: the open memory.
        bank_id: the bank.
        memory_id: which memory.
        content: the correct statement.
        said: when it was said, in ISO 8601.
        happened: when it happened: a day, or START/END (END excluded), in ISO 8601.
        **changed: other arguments of `memories.update`; None leaves a field unchanged.

    Raises:
        InvalidInputError: no field was given, or a time cannot be read.
        MemoryNotFoundError: there is no such memory.
    """
    given = {name: value for name, value in changed.items() if value is not None}
    if content is not None:
        given["text"] = content
    if said is not None:
        given["mentioned_at"] = _time("said", said)
    if happened is not None:
        start, slash, end = happened.partition("/")
        opens = _time("happened", start)
        closes = _time("happened", end) if slash else opens + timedelta(days=1)
        given["occurred"] = [(opens, closes)]
    if not given.keys() - {"reason"}:
        raise InvalidInputError("no correction given; pass the new value of a field")
    with _known_bank(memory_id):
        corrected = memory.memories.update(bank_id, memory_id, **given)
    return f"Corrected: {corrected.id}", corrected


def answer_history(
    memory: Hindsight, bank_id: str, memory_id: str
) -> tuple[str, tuple[Change, ...]]:
    """Return the tool's answer with the changes of a memory, oldest first.

    Raises:
        MemoryNotFoundError: there is no such memory.
    """
    with _known_bank(memory_id):
        memory.memories.get(bank_id, memory_id)
        changes: tuple[Change, ...] = tuple(memory.memories.history(bank_id, memory_id))
    lines = [
        f"- {change.at:%Y-%m-%d %H:%M} {change.action} {change.field}: "
        + as_item(f"{change.old or 'nothing'} -> {change.new or 'nothing'}")
        + (f" ({as_line(change.reason)})" if change.reason else "")
        for change in changes
    ]
    return fence("\n".join(lines)) if lines else "No changes recorded.", changes


def _time(name: str, text: str) -> datetime:
    try:
        return datetime.fromisoformat(text.strip())
    except ValueError as error:
        raise InvalidInputError(
            f"{name} is {text!r}; give ISO 8601, such as 2025-05-07 or 2025-05-07T13:56"
        ) from error


def answer_invalidate(
    memory: Hindsight, bank_id: str, memory_id: str, reason: str
) -> tuple[str, Memory]:
    """Mark a memory as wrong, and return the tool's answer with the memory."""
    with _known_bank(memory_id):
        withdrawn = memory.memories.invalidate(bank_id, memory_id, reason)
    return f"Marked as wrong: {withdrawn.id}", withdrawn


@contextlib.contextmanager
def _known_bank(memory_id: str) -> Iterator[None]:
    try:
        yield
    except BankNotFoundError as error:
        raise MemoryNotFoundError(
            f"this bank does not exist yet, so it has no memory {memory_id!r}; nothing was changed"
        ) from error
    except MemoryNotFoundError as error:  # which names the bank, and a method of Python
        raise MemoryNotFoundError(
            f"there is no memory {memory_id!r}; nothing was changed"
        ) from error


_ID_NOTE = re.compile(r"\((?=\s*id\b)", re.IGNORECASE)
"""Beginning of an id note, used to forget a memory; only the tools may write such a note."""


def _line(recalled: Recalled) -> str:
    return as_list_item(recalled.memory, recalled.line)


def as_list_item(memory: Memory, line: str | None = None) -> str:
    """Return a memory as an item of a tool's answer: its date, its text or `line`, and its id."""
    text = _ID_NOTE.sub("‹", memory_line(memory) if line is None else line)
    return f"{date_header(memory.mentioned_at)} {text} (id {memory.id})"


# Prompts


def as_question(message: str) -> str:
    """Return the query for a message of any length; "" if the message says nothing."""
    text = strip_fenced(message).strip()
    return "" if validation.is_blank(text) else text[: validation.MAX_QUERY]


def memories_not_shown(recalled: Iterable[Recalled], texts: Iterable[str]) -> list[Recalled]:
    """Return the memories that a conversation does not show already, in the same order.

    A memory is shown if a message contains its whole text: in the same letters, with any white
    space between the words, and not as a part of a longer word ("Ann" in "Annual"). A paraphrase
    is no such text: to show a memory twice costs a line, to leave it out may cost the answer.

    Args:
        recalled: the memories.
        texts: the messages that the model sees.
    """
    visible = "\n".join(map(_flat, texts))
    return [one for one in recalled if not _contains(visible, _flat(one.memory.text))]


def _flat(text: str) -> str:
    return " ".join(unicodedata.normalize("NFC", text).split())


def _contains(visible: str, text: str) -> bool:
    start = visible.find(text)
    while start >= 0:
        end = start + len(text)
        before, after = visible[max(0, start - 1) : start + 1], visible[end - 1 : end + 1]
        if not (_is_within_word(before) or _is_within_word(after)):
            return True
        start = visible.find(text, end)  # past it, so that hostile text is read once
    return False


def _is_within_word(pair: str) -> bool:
    return len(pair) == 2 and pair.isalnum()


def section(memories: str) -> str:
    """Return recalled text for a prompt, introduced and fenced; "" if there is none."""
    return fence(f"{REMEMBERED}\n{memories}") if memories else ""


def profile_section(memory: Hindsight, bank_id: str, person: str) -> str:
    """Return the profile of a person for a prompt, introduced and fenced; "" if there is none."""
    try:
        text = memory.profile(bank_id, person).text
    except BankNotFoundError:
        return ""
    return fence(f"{PROFILED.format(person=as_line(person))}\n{text}") if text else ""


def shortened(recalled: str, saving: int, tokenizer: Tokenizer) -> str | None:
    """Return a section shorter by `saving` tokens, without lines at its end: of the last days.

    Lines are removed whole, since half a statement can say the opposite. None is returned if no
    line can stay.
    """
    room = tokenizer.count(recalled) - saving
    lines = recalled.splitlines()[2:-1]  # without the fence and the introduction
    while lines:
        while lines.pop().startswith(FURTHER[1:]):  # further lines of the same memory
            continue
        while lines and lines[-1].startswith("["):  # the date of lines that were removed
            lines.pop()
        text = section("\n".join(lines))
        if lines and tokenizer.count(text) <= room:
            return text
    return None
