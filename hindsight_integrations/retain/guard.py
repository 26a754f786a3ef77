"""Functions that see each text before it is stored: they may edit, mark or refuse it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from typing import Literal, TypeAlias

from hindsight_integrations import validation
from hindsight_integrations.errors import GuardError, HindsightError, InvalidInputError
from hindsight_integrations.models import LOW_TRUST, TRUST, Memory, MetadataValue
from hindsight_integrations.results import Skipped, SkipReason
from hindsight_integrations.retain.request import Submission, Turn


@dataclass(frozen=True, slots=True)
class Incoming:
    """A text that is about to be stored: a document, a message, or a memory.

    Attributes:
        bank_id: the bank it goes into; cannot be changed.
        text: the text.
        speaker: who says it, if known.
        context: what it is about, if given.
        metadata: of the text.
        document_id: the document or session it belongs to; cannot be changed.
    """

    bank_id: str
    text: str
    speaker: str | None = None
    context: str | None = None
    metadata: Mapping[str, MetadataValue] = field(default_factory=dict, hash=False)
    document_id: str | None = None


BeforeRetain: TypeAlias = Callable[[Incoming], Incoming | str | None]
"""Returns the text to store in place of the one given, alone or as an edited `Incoming`, or None to
refuse it."""


def as_guards(given: object) -> tuple[BeforeRetain, ...]:
    """Return the functions given as `before_retain`: one, a list of them, or none.

    Raises:
        InvalidInputError: one of them cannot be called.
    """
    if given is None:
        return ()
    guards = tuple(given) if isinstance(given, list | tuple) else (given,)
    for guard in guards:
        if not callable(guard):
            raise InvalidInputError(
                f"before_retain is {validation.shown(guard)}; give a function that takes an "
                "Incoming, or a list of such functions"
            )
    return guards


def guarded(guards: Sequence[BeforeRetain], incoming: Incoming) -> Incoming | None:
    """Return what may be stored of a text; None if it is refused, or nothing is left of it.

    Raises:
        GuardError: a function raised, or returned something else; nothing may be stored.
    """
    for guard in guards:
        try:
            answer = guard(incoming)
        except HindsightError:
            raise
        except Exception as error:
            raise GuardError(f"before_retain raised {error!r}; nothing was stored") from error
        if answer is None:
            return None
        if isinstance(answer, str):
            answer = replace(incoming, text=answer)
        if not isinstance(answer, Incoming):
            raise GuardError(
                f"before_retain returned {validation.shown(answer)}; return an Incoming, text, or "
                "None to refuse it. Nothing was stored"
            )
        incoming = replace(answer, bank_id=incoming.bank_id, document_id=incoming.document_id)
    return _checked(incoming)


def _checked(incoming: Incoming) -> Incoming | None:
    text = validation.text(incoming.text, "the text that before_retain returned")
    if validation.is_blank(text):
        return None
    return replace(
        incoming,
        text=text,
        speaker=incoming.speaker and validation.label("speaker", incoming.speaker),
        context=incoming.context and validation.text(incoming.context, "context"),
        metadata=validation.metadata(incoming.metadata),
    )


def guarded_submissions(
    guards: Sequence[BeforeRetain], bank_id: str, submissions: Sequence[Submission]
) -> tuple[list[Submission], list[Skipped]]:
    """Return what may be stored of the submissions, and what was refused.

    A submission of which every turn is refused is left out: what is stored of it stays.
    """
    if not guards:
        return list(submissions), []
    kept: list[Submission] = []
    refused: list[Skipped] = []
    for submission in submissions:
        pairs = [
            (turn, _guarded_turn(guards, bank_id, submission, turn)) for turn in submission.turns
        ]
        refused += [Skipped(turn.text[:80], SkipReason.REFUSED) for turn, out in pairs if not out]
        admitted = [(turn, out) for turn, out in pairs if out is not None]
        if admitted or not pairs:
            kept.append(_edited(submission, admitted))
    return kept, refused


def _guarded_turn(
    guards: Sequence[BeforeRetain], bank_id: str, submission: Submission, turn: Turn
) -> Incoming | None:
    shared = submission.stamp
    metadata = {**shared.metadata, **turn.metadata}
    given = Incoming(
        bank_id, turn.text, turn.speaker, turn.context_in(shared), metadata, submission.document_id
    )
    return guarded(guards, given)


def _edited(submission: Submission, admitted: Sequence[tuple[Turn, Incoming]]) -> Submission:
    """Return a submission of the edited turns; what they still share stays in its shared fields."""
    shared = submission.stamp
    common = {
        name: value
        for name, value in shared.metadata.items()
        if all(name in out.metadata for _, out in admitted)
    }
    context = shared.context if all(out.context for _, out in admitted) else None
    turns = tuple(
        replace(
            turn,
            text=out.text,
            speaker=out.speaker,
            context=None if out.context == context else out.context,
            metadata={n: v for n, v in out.metadata.items() if (n, v) not in common.items()},
        )
        for turn, out in admitted
    )
    return replace(submission, turns=turns, stamp=replace(shared, metadata=common, context=context))


def guarded_memory(guards: Sequence[BeforeRetain], memory: Memory) -> Memory | None:
    """Return the memory that may be stored; None if it is refused.

    Raises:
        InvalidInputError: it is no memory, or its text is none.
        GuardError: see `guarded`.
    """
    if not isinstance(memory, Memory):
        raise InvalidInputError(f"memory is {validation.shown(memory)}; give a Memory")
    validation.text(memory.text, "memory.text")
    if not guards:
        return memory
    document_id = next((s.document_id for s in memory.sources if s.document_id), None)
    out = guarded(
        guards,
        Incoming(
            memory.bank_id,
            memory.text,
            memory.speaker,
            memory.context,
            memory.metadata,
            document_id,
        ),
    )
    if out is None:
        return None
    return replace(
        memory, text=out.text, speaker=out.speaker, context=out.context, metadata=dict(out.metadata)
    )


@dataclass(frozen=True, slots=True)
class SourceTrust:
    """Marks or refuses what comes from a source that is not trusted; for `before_retain`.

    A source is known by its speaker, its document id, or its metadata "source". What is marked has
    the metadata `trust="low"`: its lines say that it is not verified, no observation, opinion or
    profile rests on it, and `where={"trust": {"$exists": False}}` leaves it out of a recall.

    Args:
        trusted: names of sources; "*" stands for any characters, as in "handbook/*".
        otherwise: "mark" or "refuse".

    Raises:
        InvalidInputError: an argument cannot be used.
    """

    trusted: tuple[str, ...]
    otherwise: Literal["mark", "refuse"] = "mark"

    def __post_init__(self) -> None:
        names = validation.items("trusted", self.trusted, "a list of names")
        object.__setattr__(self, "trusted", tuple(names))
        validation.choice("otherwise", self.otherwise, ("mark", "refuse"))

    def __call__(self, incoming: Incoming) -> Incoming | None:
        """Return the text with its mark, or without one that it brought itself."""
        sources = (incoming.speaker, incoming.document_id, incoming.metadata.get("source"))
        known = [str(source) for source in sources if source is not None]
        own = {name: value for name, value in incoming.metadata.items() if name != TRUST}
        if any(fnmatchcase(source, name) for source in known for name in self.trusted):
            return replace(incoming, metadata=own)
        if self.otherwise == "refuse":
            return None
        return replace(incoming, metadata={**own, TRUST: LOW_TRUST})
