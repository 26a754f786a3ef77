"""Read datasets from files: the format of this package, LoCoMo's and LongMemEval's.

The fields are those that the two benchmarks document in their repositories, snap-research/locomo
and xiaowu0162/LongMemEval; other fields are ignored.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from types import MappingProxyType

from hindsight_integrations import validation
from hindsight_integrations.errors import InvalidInputError
from hindsight_integrations.evaluate.dataset import (
    DataBank,
    DataItem,
    DataQuestion,
    Dataset,
    answerable,
    parse_dataset,
    sessions_of,
)
from hindsight_integrations.evaluate.entries import Entry, distinct, named

OWN_FORMAT = "hindsight"


def load_dataset(path: str | os.PathLike[str], format: str = OWN_FORMAT) -> Dataset:
    """Read a dataset from a JSON file.

    Args:
        path: the file.
        format: "hindsight", described in docs/benchmarks.md, or the file of another benchmark:
            "locomo" or "longmemeval".

    Raises:
        InvalidInputError: the file cannot be read, or a field cannot be used.
    """
    if format not in FORMATS:
        raise InvalidInputError(f"format is {format!r}; choose from {', '.join(FORMATS)}")
    file = Path(validation.file_path("data", path))
    try:
        text = file.read_text(encoding="utf-8")
    except OSError as error:
        raise InvalidInputError(f"{file} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise InvalidInputError(f"{file} is not JSON in UTF-8: {error}") from error
    content = validation.from_json(text, str(file))
    if format == OWN_FORMAT and isinstance(content, list):
        others = ", ".join(name for name in FORMATS if name != OWN_FORMAT)
        raise InvalidInputError(
            f"{file} holds a list, and a dataset of this package is an object with 'banks'; if it "
            f"is the file of another benchmark, name its format: {others}"
        )
    return FORMATS[format](content, name=file.stem)


# LoCoMo

CATEGORIES = MappingProxyType(
    {"1": "multi-hop", "2": "temporal", "3": "open-domain", "4": "single-hop", "5": "adversarial"}
)
"""Categories of LoCoMo's questions, by their number."""

_SESSION = re.compile(r"session_(\d+)")
_LOCOMO_TIME = re.compile(r"(\d{1,2}):(\d{2}) ?([ap])m on (\d{1,2}) (\w+),? (\d{4})", re.IGNORECASE)
_EVIDENCE = re.compile(r"D:?(\d+):(\d+)")
_MONTHS = (
    "january", "february", "march", "april", "may", "june", "july", "august", "september",
    "october", "november", "december",
)  # fmt: skip


def parse_locomo(content: object, *, name: str = "locomo") -> Dataset:
    """Return LoCoMo's conversations, each as a bank.

    A turn is an item; the caption of a photo that it shares is put behind its text. The turns of a
    session follow one another by a second, and questions are asked a day after the last.
    Adversarial questions are not scored. Evidence that names no turn, of which the published file
    has some, is left out.

    Raises:
        InvalidInputError: a field is missing or cannot be used.
    """
    banks = [_conversation(sample) for sample in _instances(content, "sample", "sample_id")]
    return _dataset(name, banks)


def _conversation(sample: Entry) -> DataBank:
    told = Entry.of(
        sample.fields.get("conversation"), f"{sample.where}: the conversation of a LoCoMo sample"
    )
    numbers = sorted(int(found[1]) for key in told.fields if (found := _SESSION.fullmatch(key)))
    items = tuple(item for number in numbers for item in _locomo_session(sample, told, number))
    if not items:
        raise InvalidInputError(
            f"{sample.where}: the conversation has no turns; give them as 'session_1', 'session_2'"
        )
    distinct([item.id for item in items], f"{sample.where}: 'conversation'")
    last = max((item.ts for item in items if item.ts), default=None)
    asked = last + timedelta(days=1) if last else None
    questions = [
        _locomo_question(entry, number, items, asked)
        for number, entry in enumerate(named(sample.array("qa"), f"{sample.where}, question"))
    ]
    return DataBank(sample.required("sample_id"), items, answerable(questions))


def _locomo_session(sample: Entry, told: Entry, number: int) -> Iterator[DataItem]:
    session = f"session_{number}"
    started = _locomo_time(told, f"{session}_date_time")
    turns = named(told.array(session), f"{sample.where}, {session}, turn", "dia_id")
    for place, turn in enumerate(turns):
        caption = turn.optional("blip_caption")
        shown = f"[photo: {caption}]" if caption else None
        text = " ".join(part for part in (turn.optional("text"), shown) if part)
        if text:
            yield DataItem(
                id=turn.required("dia_id"),
                text=text,
                speaker=turn.required("speaker"),
                ts=started + timedelta(seconds=place) if started else None,
                session=session,
            )


def _locomo_time(told: Entry, name: str) -> datetime | None:
    text = told.optional(name)
    if text is None:
        return None
    advice = "give a time such as 1:56 pm on 8 May, 2023"
    found = _LOCOMO_TIME.fullmatch(text.strip())
    if found is None or found[5].lower() not in _MONTHS:
        raise told.refused(name, advice)
    hour = int(found[1]) % 12 + (12 if found[3].lower() == "p" else 0)
    month = _MONTHS.index(found[5].lower()) + 1
    try:
        return datetime(int(found[6]), month, int(found[4]), hour, int(found[2]))
    except ValueError as error:
        raise told.refused(name, advice) from error


def _locomo_question(
    entry: Entry, number: int, items: Sequence[DataItem], asked: datetime | None
) -> DataQuestion:
    given = entry.array("evidence") if entry.fields.get("evidence") is not None else []
    named_turns = [
        f"D{int(session)}:{int(turn)}"
        for each in given
        for session, turn in _EVIDENCE.findall(str(each))
    ]
    known = {item.id for item in items}
    gold = tuple(turn for turn in dict.fromkeys(named_turns) if turn in known)
    category = entry.required("category")
    return DataQuestion(
        id=f"q{number}",
        question=entry.required("question"),
        gold=gold,
        category=CATEGORIES.get(category, category),
        time=asked,
        scored=CATEGORIES.get(category) != "adversarial",
        gold_sessions=sessions_of(gold, items),
    )


# LongMemEval

_LONGMEMEVAL_TIME = re.compile(r"(\d{4})/(\d{2})/(\d{2})(?: \(\w+\))?(?: (\d{2}):(\d{2}))?")


def parse_longmemeval(content: object, *, name: str = "longmemeval") -> Dataset:
    """Return LongMemEval's instances, each as a bank with one question.

    The turns of a session follow one another by a second. Gold items are the turns marked
    `has_answer`, gold sessions those of `answer_session_ids`. Abstention questions have no
    evidence and are left out, with their banks.

    Raises:
        InvalidInputError: a field is missing or cannot be used.
    """
    instances = _instances(content, "instance", "question_id")
    banks = [_history(one) for one in instances if not one.required("question_id").endswith("_abs")]
    return _dataset(name, banks)


def _history(instance: Entry) -> DataBank:
    names = ("haystack_session_ids", "haystack_dates", "haystack_sessions")
    ids, dates, sessions = map(instance.array, names)
    if not len(ids) == len(dates) == len(sessions):
        raise InvalidInputError(
            f"{instance.where}: {', '.join(names)} have {len(ids)}, {len(dates)} and "
            f"{len(sessions)} entries; give one each for every session"
        )
    wanted = {str(each) for each in instance.array("answer_session_ids")}
    if strangers := wanted - set(map(str, ids)):
        raise instance.refused(
            "answer_session_ids", f"{min(strangers)!r} is not among the haystack_session_ids"
        )
    items: list[DataItem] = []
    gold: list[str] = []
    for number, (id, date, turns) in enumerate(zip(ids, dates, sessions, strict=True)):
        where = Entry(f"{instance.where}, session {id!r}", {"date": date, "turns": turns})
        for item, answers in _longmemeval_session(where, number, str(id)):
            items.append(item)
            if answers and str(id) in wanted:
                gold.append(item.id)
    if not items:
        raise instance.refused("haystack_sessions", "give at least one turn with content")
    question = DataQuestion(
        id=instance.required("question_id"),
        question=instance.required("question"),
        gold=tuple(gold),
        category=instance.optional("question_type") or "",
        time=_longmemeval_time(instance, "question_date"),
        gold_sessions=tuple(dict.fromkeys(str(id) for id in ids if str(id) in wanted)),
    )
    return DataBank(question.id, tuple(items), answerable([question]))


def _longmemeval_session(
    session: Entry, number: int, session_id: str
) -> Iterator[tuple[DataItem, bool]]:
    """Yield the turns with content of a session, each with True if it holds the answer."""
    started = _longmemeval_time(session, "date")
    for place, turn in enumerate(named(session.array("turns"), f"{session.where}, turn")):
        text = turn.optional("content")
        if text:
            item = DataItem(
                id=f"{number}:{place}",
                text=text,
                speaker=turn.required("role"),
                ts=started + timedelta(seconds=place) if started else None,
                session=session_id,
            )
            yield item, turn.flag("has_answer", default=False)


def _longmemeval_time(entry: Entry, name: str) -> datetime | None:
    text = entry.optional(name)
    if text is None:
        return None
    advice = "give a time such as 2023/05/20 (Sat) 02:21"
    found = _LONGMEMEVAL_TIME.fullmatch(text.strip())
    if found is None:
        raise entry.refused(name, advice)
    try:
        return datetime(*(int(part or 0) for part in found.groups()))  # type: ignore[arg-type]
    except ValueError as error:
        raise entry.refused(name, advice) from error


# Both


def _instances(content: object, kind: str, key: str) -> list[Entry]:
    """Return the objects of a list, or the one object that the file holds."""
    values = content if isinstance(content, list) else [content]
    if not values:
        raise InvalidInputError(f"the file holds an empty list; give at least one {kind}")
    return named(values, kind, key)


def _dataset(name: str, banks: Sequence[DataBank]) -> Dataset:
    distinct([bank.id for bank in banks], "the file")
    if not any(bank.questions for bank in banks):
        raise InvalidInputError("the file holds no question with evidence; there is nothing to ask")
    return Dataset(name, tuple(banks))


FORMATS: Mapping[str, Callable[..., Dataset]] = MappingProxyType(
    {OWN_FORMAT: parse_dataset, "locomo": parse_locomo, "longmemeval": parse_longmemeval}
)
"""Parsers of a JSON value, by the name of the format."""
