"""Reflection without a language model: an answer quoted from memories, or none.

A question is answered by the sentences that state what it asks for (`matching`), each with its
citation, and with its date unless it was said on the day of the question. What newer memories
contradict is left out. A text that asks nothing in particular, such as "Tell me about Ana", gets
what is known of it. If no memory answers, nothing is known.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from hindsight_integrations.models import Memory, MemoryType, MentalModel, ModelUsage
from hindsight_integrations.nlp.bm25 import lexemes
from hindsight_integrations.nlp.sentences import parse
from hindsight_integrations.nlp.time import TimeSpan, parse_query
from hindsight_integrations.normalization import text_fingerprint
from hindsight_integrations.recall.arms.temporal import in_bank
from hindsight_integrations.recall.dependencies import RecallDependencies
from hindsight_integrations.recall.request import RecallRequest, conditions
from hindsight_integrations.reflect.answers.matching import Match
from hindsight_integrations.reflect.answers.questions import WORDS, Asked, Query, read_question
from hindsight_integrations.reflect.answers.reasons import reasons
from hindsight_integrations.reflect.answers.stated import Statement, statements
from hindsight_integrations.reflect.changes.currency import (
    contradicted,
    contradicted_statements,
    contradicting,
    contradicts,
    overtaking,
)
from hindsight_integrations.reflect.context import set_out, when
from hindsight_integrations.reflect.other_languages import content_of, stating
from hindsight_integrations.reflect.retractions import (
    correction_in,
    retraction_after,
    retracts_itself,
)
from hindsight_integrations.reflect.search import SearchResult, find_memories, find_models
from hindsight_integrations.rendering import as_item, as_line
from hindsight_integrations.results import NOTHING_KNOWN, Context, ContextItem, Reflection
from hindsight_integrations.stores.base import GraphStore, MemoryFilter, StoredBank
from hindsight_integrations.timespan import day_text

LONGEST_LIST = 10
"""Most statements of an answer."""

_CHANGE = WORDS["replacing"] | WORDS["changing"] | WORDS["moving"]
"""Words of what is no longer as it was."""

SOON = timedelta(days=2)
"""Time within which somebody's next message may correct the one before."""

MOST_HINTS = 2
"""Most statements quoted beside an answer since they hint that it is no longer so."""

_LASTING = frozenset({Asked.WHY, Asked.EVENTS, Asked.SAID})
"""Questions of what remains so, whatever came after it."""

_FACTS = frozenset({MemoryType.WORLD, MemoryType.EXPERIENCE, MemoryType.OPINION})


@dataclass(frozen=True, slots=True)
class _Found:
    """A statement that answers, with the item of the context it is cited by.

    Attributes:
        outdated: newer memories contradict it.
        denial: the sentence after it, if that takes it back.
        instead: it says what became of a statement that answered, and is no longer so.
        ended: that statement said "yes".
        hint: it answers nothing, but hints that what was found has ended.
    """

    statement: Statement
    match: Match
    item: ContextItem
    outdated: bool = False
    denial: str = ""
    instead: bool = False
    ended: bool = False
    hint: bool = False

    @property
    def holds(self) -> bool:
        """True unless it is contradicted or taken back."""
        return not (self.outdated or self.denial or retracts_itself(self.statement.text))

    @property
    def said_at(self) -> datetime:
        """Time at which it was said."""
        return self.statement.memory.mentioned_at


def reflect(deps: RecallDependencies, bank: StoredBank, request: RecallRequest) -> Reflection:
    """Answer the request's question with quotations from the bank.

    Raises:
        EmbeddingError: the question could not be embedded.
        StoreUnavailableError: every arm of recall failed.
    """
    results, context = _search(deps, bank, request)
    hemisphere = deps.settings.hemisphere
    times = parse_query(request.query, request.asked_at, hemisphere=hemisphere).windows
    query = read_question(request.query, [window.text for window in times])
    if wanted := content_of(request.query):
        return _of_other_language(bank, request, context, wanted)
    if query is None:
        return _overview(deps, bank, request, results, context)
    windows = list(in_bank(deps.graph, bank.bank.id, times, request.filter).values())
    if windows and query.light in WORDS["happening"]:
        query = replace(query, asked=Asked.EVENTS)
    query = replace(query, asker=_asker(context))
    answers = [_corrected(deps.graph, one) for one in _answers(context, query, windows)]
    found = _current(answers, query, context)
    found = _with_hints(found, query, context)
    if query.asked is Asked.WHY:
        text, sources = _with_causes(deps, bank, request, context, query, found)
    else:
        text = _text(query, found, context, request.asked_at)
        sources = tuple(dict.fromkeys(one.item.id for one in found))
    return Reflection(
        bank.bank.id,
        request.query,
        text or NOTHING_KNOWN,
        sources if text else (),
        context,
        ModelUsage(),
        extractive=True,
    )


def _of_other_language(
    bank: StoredBank, request: RecallRequest, context: Context, wanted: frozenset[str]
) -> Reflection:
    """Return the sentences with all words of a question whose grammar is not read."""
    cited = [
        (words, item)
        for item in context.items
        if isinstance(item.source, Memory)
        for words in stating(item.source.text, wanted)
    ][:LONGEST_LIST]
    return Reflection(
        bank.bank.id,
        request.query,
        "\n".join(f"“{as_item(words)}” [{item.label}]" for words, item in cited) or NOTHING_KNOWN,
        tuple(dict.fromkeys(item.id for _, item in cited)),
        context,
        ModelUsage(),
        extractive=True,
    )


def _search(
    deps: RecallDependencies, bank: StoredBank, request: RecallRequest
) -> tuple[list[SearchResult], Context]:
    """Return the mental models and facts on the question, and the context of those that fit.

    Facts stand for the observations that were drawn from them.
    """
    wanted = request.filter.types
    if wanted is None or wanted & _FACTS:
        request = replace(request, filter=replace(request.filter, derived=False))
    memories, failures = find_memories(deps, bank, request)
    results = [*find_models(deps, bank, request), *memories]
    return results, set_out(bank.bank, request, results, failures, deps.tokenizer)


def _overview(
    deps: RecallDependencies,
    bank: StoredBank,
    request: RecallRequest,
    results: Sequence[SearchResult],
    context: Context,
) -> Reflection:
    """Return what is known of the names, or else the words, of a text that asks nothing."""
    words = parse(request.query).words
    names = {term for word in words if word.is_proper for term in lexemes(word.text)}
    wanted = names or set(lexemes(request.query))
    on_it = [result for result in results if wanted & set(lexemes(_words_of(result.source)))]
    known = {term for r in on_it for term in lexemes(_words_of(r.source))}
    if names - known:
        on_it = []
    told = set_out(bank.bank, request, on_it, context.failures, deps.tokenizer)
    return Reflection(
        bank.bank.id,
        request.query,
        told.text if on_it else NOTHING_KNOWN,
        told.sources if on_it else (),
        told if on_it else context,
        ModelUsage(),
        extractive=True,
    )


def _words_of(source: Memory | MentalModel) -> str:
    if isinstance(source, MentalModel):
        return f"{source.name} {source.text}"
    return " ".join((source.text, source.speaker or "", *source.entities))


def _answers(context: Context, query: Query, windows: Sequence[TimeSpan]) -> list[_Found]:
    """Return the statements that answer, in the order of recall, each wording once.

    What a mental model repeats is quoted from the memory, whose date is known.
    """
    found: dict[str, _Found] = {}
    for item in sorted(context.items, key=lambda item: isinstance(item.source, MentalModel)):
        memory = item.source
        if isinstance(memory, MentalModel):
            memory = _as_memory(memory)
        events = query.asked is Asked.EVENTS
        if windows and not events and not any(_lies_in(memory, window) for window in windows):
            continue
        for statement in statements(memory):
            match = Match(statement, query)
            if events and not match.lies_in(windows):
                continue
            if match.fits() and match.answers():
                key = text_fingerprint(statement.text)
                if key not in found:
                    outdated = _is_outdated(statement, item, context)
                    denial = retraction_after(statement.memory.text, statement.text)
                    found[key] = _Found(statement, match, item, outdated, denial)
    return list(found.values())


def _corrected(graph: GraphStore, one: _Found) -> _Found:
    """Return a statement with the next message of its speaker, if that corrects it."""
    memory = one.statement.memory
    if one.denial or memory.speaker is None:
        return one
    soon = {
        "$and": [
            {"speaker": memory.speaker},
            {"mentioned_at": {"$gt": memory.mentioned_at}},
            {"mentioned_at": {"$lte": memory.mentioned_at + SOON}},
        ]
    }
    filter = MemoryFilter(now=None, where=conditions(soon))
    page = graph.list_memories(memory.bank_id, filter, limit=LONGEST_LIST)
    following = min(page.items, key=lambda one: one.mentioned_at, default=None)
    return replace(one, denial=correction_in(following.text)) if following else one


def _is_outdated(statement: Statement, item: ContextItem, context: Context) -> bool:
    """Return True if newer memories contradict the statement, not another one of its memory."""
    if not item.stale or isinstance(item.source, MentalModel):
        return item.stale
    memory, facts, own = item.source, list(_facts(context)), statement.own_text
    return own in contradicted_statements(memory, facts, [own])


def _facts(context: Context) -> Iterator[Memory]:
    """Yield the memories of a context, each once."""
    memories = (item.source for item in context.items if isinstance(item.source, Memory))
    yield from {memory.id: memory for memory in memories}.values()


def _as_memory(model: MentalModel) -> Memory:
    """Return the model's own words as a memory; none of lines that quote memories."""
    own = [line for line in model.text.splitlines() if not line.lstrip().startswith("- ")]
    return Memory(
        id=model.id, bank_id=model.bank_id, text="\n".join(own), mentioned_at=model.refreshed_at
    )


def _lies_in(memory: Memory, window: TimeSpan) -> bool:
    """Return True if a time the memory names, or else when it was said, lies in the window."""
    if memory.occurred:
        return any(t.start < window.end and window.start < t.end for t in memory.occurred)
    return window.start <= memory.mentioned_at < window.end


def _asker(context: Context) -> str:
    """Return the one named speaker of the memories, for whom "I" stands; empty for several."""
    speakers = {
        item.source.speaker.casefold()
        for item in context.items
        if isinstance(item.source, Memory)
        and item.source.speaker
        and item.source.type is not MemoryType.EXPERIENCE
    }
    return speakers.pop() if len(speakers) == 1 else ""


def _current(found: Sequence[_Found], query: Query, context: Context) -> list[_Found]:
    """Return the statements without those that newer memories contradict, or these if all are.

    A question about the past is answered with what was; so is one to which nothing newer answers.
    """
    if query.before:
        lasting = _since_last_change([one for one in found if not one.outdated])
        follows = [one for one in found if query.followed_by <= set(lexemes(one.statement.text))]
        last = max((one.said_at for one in follows), default=None)
        former = [one for one in found if one not in lasting or one.match.is_former()]
        found = [one for one in former if last and one.said_at <= last]
    elif not query.past:
        found = [one for one in found if one.match.of_kind()] or found
        current = [one for one in found if not one.outdated]
        found = current or _instead(found, query, context) or found
        found = _in_other_role(found, query, context) or _since_last_change(found)
        found = _in_short(found, query, context) or found or _elsewhere(query, context)
    return sorted(found, key=lambda one: one.said_at, reverse=True)[:LONGEST_LIST]


def _instead(found: Sequence[_Found], query: Query, context: Context) -> list[_Found]:
    """Return the statements of newer memories that contradict those found."""
    facts = {item.id: item for item in context.items if isinstance(item.source, Memory)}
    news: dict[str, _Found] = {}
    for one in found:
        older = replace(one.statement.memory, text=one.statement.own_text)
        ended = one.match.verdict() is True
        for newer in _newer(one, older, context):
            for statement in statements(newer):
                said = replace(newer, text=statement.text)
                if isinstance(one.item.source, MentalModel) or contradicts(said, older):
                    match, item = Match(statement, query), facts[newer.id]
                    new = _Found(statement, match, item, instead=True, ended=ended)
                    news[statement.text] = new
    return list(news.values())


def _newer(one: _Found, older: Memory, context: Context) -> list[Memory]:
    """Return the memories that contradict a statement, and that no newer one does."""
    memories = list(_facts(context))
    if not isinstance(one.item.source, MentalModel):
        return overtaking(older, memories)
    ids = contradicting(replace(one.item.source, text=older.text), memories)
    overtaken = contradicted([memory for memory in memories if memory.id in ids])
    return [memory for memory in memories if memory.id in ids and memory.id not in overtaken]


def _with_hints(found: list[_Found], query: Query, context: Context) -> list[_Found]:
    """Return the statements with the latest of those told since that hint at an end of it."""
    now = query.tense in ("present", "future") and not query.before
    if not now or not found or query.asked in _LASTING or any(one.instead for one in found):
        return found
    texts = {one.statement.text for one in found}
    items = {item.id: item for item in context.items if isinstance(item.source, Memory)}
    hints = {
        text_fingerprint(statement.text): _Found(statement, match, items[memory.id], hint=True)
        for memory in _facts(context)
        for statement in statements(memory)
        if statement.text not in texts and all(_is_later(statement, one) for one in found)
        for match in (Match(statement, query),)
        if any(match.may_end(one.statement.sentence) for one in found)
    }
    latest = sorted(hints.values(), key=lambda one: one.said_at, reverse=True)
    return [*latest[:MOST_HINTS], *found]


def _is_later(statement: Statement, one: _Found) -> bool:
    """Return True if a statement was told after one that was found, or may have been."""
    memory, other = statement.memory, one.statement.memory
    if memory.id == other.id:
        told, before = statement.sentence.text, one.statement.sentence.text
        return memory.text.find(told) > memory.text.find(before)
    return memory.mentioned_at >= one.said_at


def _in_other_role(found: Sequence[_Found], query: Query, context: Context) -> list[_Found]:
    """Return who is "now a teacher" of whom it was asked if she works as a nurse."""
    if query.subject is None or not any(one.match.is_role() for one in found):
        return []
    job = replace(query, asked=Asked.JOB, terms=(query.subject,), verb=frozenset(), light="be")
    last = max(one.said_at for one in found)
    return [
        replace(one, instead=True, ended=True)
        for one in _since_last_change(_answers(context, job, ()))
        if one.said_at > last and one.match.replaces()
    ]


def _in_short(found: Sequence[_Found], query: Query, context: Context) -> list[_Found]:
    """Return what ends the statements, told of "the club" where they are of "the chess club"."""
    index = query.terms.index(query.subject) if query.subject in query.terms else 0
    if not found or index == 0 or query.terms[index - 1].is_name:
        return []
    short = replace(query, terms=(*query.terms[: index - 1], *query.terms[index:]))
    asked = frozenset[str]().union(query.verb, *(term.stems for term in query.terms))
    told = {stem for one in found for stem in lexemes(one.statement.text)} - asked
    last = max(one.said_at for one in found)
    return [
        replace(one, instead=True)
        for one in _answers(context, short, ())
        if one.said_at > last and one.match.ends() and told & set(lexemes(one.statement.text))
    ]


def _elsewhere(query: Query, context: Context) -> list[_Found]:
    """Return where a thing is of which it was asked if it is still where it was."""
    if not (query.still and query.light == "be" and query.subject in query.terms):
        return []
    end = query.terms.index(query.subject) + 1
    places = frozenset[str]().union(*(term.stems for term in query.terms[end:]))
    where = replace(query, asked=Asked.WHERE, terms=query.terms[:end], still=False)
    found = _answers(context, where, ())
    last = [one for one in _current(found, where, context) if one.match.replaces()]
    was = any(places & set(lexemes(one.statement.text)) for one in found if one not in last)
    return [
        replace(one, instead=True, ended=True)
        for one in last
        if was and not places & set(lexemes(one.statement.text))
    ]


def _since_last_change(found: Sequence[_Found]) -> list[_Found]:
    """Return the statements since the last one that replaces older ones, of what there is one of.

    One who moved lives elsewhere, and what is "now" on Mondays is on no other day.
    """
    changes = [one.said_at for one in found if one.match.replaces()]
    return [one for one in found if not changes or one.said_at >= max(changes)]


def _text(query: Query, found: Sequence[_Found], context: Context, asked_at: datetime) -> str:
    """Return the answer: one quotation, or a list of them; dated if it was asked when."""
    lines = [(one, _quoted(one, asked_at)) for one in found]
    if query.asked is Asked.EVENTS:
        return _dated((one.match.event_time(), quoted) for one, quoted in lines)
    if query.asked is Asked.WHEN:
        hinted = any(one.hint for one in found)
        return _dated(
            (None if hinted or one.denial else one.match.time(), quoted) for one, quoted in lines
        )
    if not found:
        return ""
    lead = _lead(query, found, context)
    if len(found) == 1:
        return f"{lead}{lines[0][1]}"
    listed = "\n".join(f"- {quoted}" for _, quoted in lines)
    return f"{lead.rstrip()}\n{listed}" if lead else listed


def _dated(lines: Iterable[tuple[TimeSpan | None, str]]) -> str:
    """Return a list of quotations, each after its time; those without one come last."""
    lines = list(lines)
    dated = sorted((span, quoted) for span, quoted in lines if span)
    undated = (f"- {quoted}" for span, quoted in lines if not span)
    return "\n".join([*(f"- {when(span)}: {quoted}" for span, quoted in dated), *undated])


def _quoted(one: _Found, asked_at: datetime) -> str:
    """Return a statement in quotation marks, with its speaker, date and label.

    What was said on the day of the question needs no date.
    """
    speaker = as_line(one.statement.memory.speaker or "")
    words = as_item(f"{one.statement.text} {one.denial}".rstrip())
    notes = []
    if one.said_at.date() != asked_at.date():
        verb = "written" if isinstance(one.item.source, MentalModel) else "said"
        notes.append(f"{verb} {day_text(one.said_at)}")
    if one.outdated:
        notes.append("changed since")
    note = f" ({', '.join(notes)})" if notes else ""
    return f"{f'{speaker}: ' if speaker else ''}“{words}”{note} [{one.item.label}]"


def _lead(query: Query, found: Sequence[_Found], context: Context) -> str:
    """Return the value itself, a number, yes or no, where all statements give the same.

    None is given where a later memory speaks of the matter in other words: it may say otherwise.
    """
    if any(one.instead for one in found):
        return "No: " if query.still and all(one.ended for one in found) else ""
    if any(one.hint or not one.holds for one in found) or _is_spoken_of_later(
        query, found, context
    ):
        return ""
    values: set[str | None] = set()
    for one in found:
        if query.asked is Asked.WHETHER:
            values.add({True: "Yes", False: "No", None: None}[one.match.verdict()])
        else:
            values.add(one.match.number() if query.asked is Asked.NUMBER else None)
    value = values.pop() if len(values) == 1 else None
    return f"{value}: " if value else ""


def _is_spoken_of_later(query: Query, found: Sequence[_Found], context: Context) -> bool:
    """Return True if something said after the statements found may change them.

    That is what shares half of the question's words, names aside; or one, and tells of a change.
    """
    last = max(one.said_at for one in found)
    asked = [term.stems for term in query.terms if not term.is_name]
    asked += [query.verb] if query.verb else []
    for memory in _facts(context):
        if memory.mentioned_at <= last:
            continue
        for statement in statements(memory):
            words = set(lexemes(statement.text))
            shared = sum(not stems.isdisjoint(words) for stems in asked)
            changes = not _CHANGE.isdisjoint(word.lemma for word in statement.sentence.words)
            if shared and (2 * shared >= len(asked) or changes or Match(statement, query).ends()):
                return True
    return False


def _with_causes(
    deps: RecallDependencies,
    bank: StoredBank,
    request: RecallRequest,
    context: Context,
    query: Query,
    found: Sequence[_Found],
) -> tuple[str, tuple[str, ...]]:
    """Return the causes: named in the sentence itself, or else beside it."""
    cited: list[tuple[str, tuple[str, ...]]] = [
        (_quoted(one, request.asked_at), (one.item.id,)) for one in found
    ]
    cited = cited or list(reasons(deps, bank, request, context, query))[:LONGEST_LIST]
    lines = list(dict.fromkeys(line for line, _ in cited))
    text = lines[0] if len(lines) == 1 else "\n".join(f"- {line}" for line in lines)
    return text, tuple(dict.fromkeys(id for _, ids in cited for id in ids))
