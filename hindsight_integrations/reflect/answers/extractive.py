"""Reflection without a language model: an answer quoted from memories, or none.

A question is answered by the sentences that state what it asks for (`matching`), each with its
citation, and with its date unless it was said on the day of the question. What newer memories
contradict is left out. A text that asks nothing in particular, such as "Tell me about Ana", gets
what is known of it. If no memory surely answers, the nearest are shown, and said to be no more.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from datetime import datetime

from hindsight_integrations.models import Memory, MemoryType, MentalModel
from hindsight_integrations.nlp.bm25 import lexemes, lexemes_of
from hindsight_integrations.nlp.time import TimeSpan, parse_query
from hindsight_integrations.normalization import text_fingerprint
from hindsight_integrations.recall.arms.temporal import windows_in_bank
from hindsight_integrations.recall.dependencies import RecallDependencies
from hindsight_integrations.recall.request import RecallRequest, conditions
from hindsight_integrations.reflect.answers.factual import tells_move_of
from hindsight_integrations.reflect.answers.matching import Match
from hindsight_integrations.reflect.answers.nearest import LEAST_SHARE, nearest, quoting
from hindsight_integrations.reflect.answers.overview import read_topic
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
from hindsight_integrations.reflect.context import context_of_results, when
from hindsight_integrations.reflect.dependencies import FACTS
from hindsight_integrations.reflect.other_languages import content_of, stating
from hindsight_integrations.reflect.retractions import (
    CORRECTION_TIME,
    asks_for_another_date,
    correction_by,
    documents_of,
    retraction_after,
    retracts_itself,
)
from hindsight_integrations.reflect.search import SearchResult, find_memories, find_models
from hindsight_integrations.rendering import as_item, as_line
from hindsight_integrations.results import Context, ContextItem, Reflection
from hindsight_integrations.stores.base import GraphStore, MemoryFilter, StoredBank
from hindsight_integrations.timespan import day_text

MAX_STATEMENTS = 10
"""Most statements of an answer."""

_CHANGE_LEMMAS = WORDS["replacing"] | WORDS["changing"] | WORDS["moving"]
"""Words of what is no longer as it was."""

_NEXT_MESSAGES = 3
"""Messages after one that may put off what it announces."""

MAX_HINTS = 2
"""Most statements quoted with an answer because they hint that it no longer holds."""

_PERMANENT = frozenset({Asked.WHY, Asked.EVENTS, Asked.SAID})
"""Kinds of questions whose answers stay true whatever happens later."""


@dataclass(frozen=True, slots=True)
class _Answer:
    """A statement that answers the question, with the context item that is cited for it.

    Attributes:
        is_outdated: newer memories contradict it.
        retraction: the next sentence, if it retracts the statement; else "".
        is_replacement: it gives the new value in place of an answer that no longer holds.
        ends_yes: the replaced answer said "yes".
        is_hint: it is no answer, but hints that an answer no longer holds.
    """

    statement: Statement
    match: Match
    item: ContextItem
    is_outdated: bool = False
    retraction: str = ""
    is_replacement: bool = False
    ends_yes: bool = False
    is_hint: bool = False

    @property
    def holds(self) -> bool:
        """True unless it is contradicted or retracted."""
        return not (self.is_outdated or self.retraction or retracts_itself(self.statement.text))

    @property
    def said_at(self) -> datetime:
        """Time at which the statement was said."""
        return self.statement.memory.mentioned_at


def reflect(deps: RecallDependencies, bank: StoredBank, request: RecallRequest) -> Reflection:
    """Answer the request's question with quotations from the bank.

    Raises:
        EmbeddingError: the question could not be embedded.
        StoreUnavailableError: every arm of recall failed.
    """
    results, context = _search_evidence(deps, bank, request)
    hemisphere = deps.settings.hemisphere
    times = parse_query(request.query, request.asked_at, hemisphere=hemisphere).windows
    query = read_question(request.query, [window.text for window in times])
    if required_words := content_of(request.query):
        return _reflect_other_language(bank, request, results, context, required_words)
    if query is None:
        return _overview(deps, bank, request, results, context)
    windows = list(windows_in_bank(deps.graph, bank.bank.id, times, request.filter).values())
    if windows and query.light_verb in WORDS["happening"]:
        query = replace(query, asked=Asked.EVENTS)
    query = replace(query, asker=_asker(context))
    beside = _irrelevant_ids(results)
    matching = [
        answer
        for answer in _matching_answers(context, query, windows)
        if query.asked is Asked.EVENTS or answer.item.id not in beside
    ]
    answers = _current_answers(matching, query, context)
    if query.asked is Asked.WHEN:
        answers = [one for one in answers if not _is_put_off(deps.graph, one, request.filter)]
    answers = [_with_correction(deps.graph, answer, request.filter) for answer in answers]
    answers = _with_hints(answers, query, context, beside)
    if query.asked is Asked.WHY:
        text, sources = _text_with_causes(deps, bank, request, context, query, answers)
    else:
        text = _answer_text(query, answers, context, request.asked_at)
        sources = tuple(dict.fromkeys(answer.item.id for answer in answers))
    if not text:
        # What is near a question about a time was mostly told of another.
        found = [] if query.asked is Asked.EVENTS else results
        return nearest(bank, request, found, context)
    return quoting(bank, request, context, text, sources)


def _reflect_other_language(
    bank: StoredBank,
    request: RecallRequest,
    results: Sequence[SearchResult],
    context: Context,
    required_words: frozenset[str],
) -> Reflection:
    """Quote the sentences with all content words of a question whose grammar is not read."""
    cited = [
        (words, item)
        for item in context.items
        if isinstance(item.source, Memory)
        for words in stating(item.source.text, required_words)
    ][:MAX_STATEMENTS]
    if not cited:
        return nearest(bank, request, results, context)
    text = "\n".join(f"“{as_item(words)}” [{item.label}]" for words, item in cited)
    sources = tuple(dict.fromkeys(item.id for _, item in cited))
    return quoting(bank, request, context, text, sources)


def _search_evidence(
    deps: RecallDependencies, bank: StoredBank, request: RecallRequest
) -> tuple[list[SearchResult], Context]:
    """Find mental models and facts for the question, and compose those that fit into a context.

    Facts stand for the observations that were drawn from them.
    """
    types = request.filter.types
    if types is None or types & FACTS:
        request = replace(request, filter=replace(request.filter, derived=False))
    memories, failures = find_memories(deps, bank, request)
    results = [*find_models(deps, bank, request), *memories]
    return results, context_of_results(bank.bank, request, results, failures, deps.tokenizer)


def _overview(
    deps: RecallDependencies,
    bank: StoredBank,
    request: RecallRequest,
    results: Sequence[SearchResult],
    context: Context,
) -> Reflection:
    """Answer a text without a specific question by what is known of its topic, if it names one."""
    topic = read_topic(request.query, _asker(context))
    related = topic.related(results) if topic else []
    if not related:
        return nearest(bank, request, results, context)
    overview = context_of_results(bank.bank, request, related, context.failures, deps.tokenizer)
    return quoting(bank, request, overview, overview.text, overview.sources)


def _matching_answers(context: Context, query: Query, windows: Sequence[TimeSpan]) -> list[_Answer]:
    """Return the statements that answer the query, in the order of recall, each wording once.

    What a mental model repeats is quoted from the memory, whose date is known.
    """
    answers: dict[str, _Answer] = {}
    for item in sorted(context.items, key=lambda item: isinstance(item.source, MentalModel)):
        memory = item.source
        if isinstance(memory, MentalModel):
            memory = _own_words_as_memory(memory)
        events = query.asked is Asked.EVENTS
        if windows and not events and not any(_is_within(memory, window) for window in windows):
            continue
        for statement in statements(memory):
            match = Match(statement, query)
            opens = memory.text.strip().startswith(statement.sentence.text)
            undated = windows and opens and len(memory.text.strip()) > len(statement.sentence.text)
            if (events or (undated and not match.has_time())) and not match.lies_in(windows):
                continue  # "I was made chair. Bo had been it in 2019." tells of no chair in 2019
            if match.fits() and match.answers():
                key = text_fingerprint(statement.text)
                if key not in answers:
                    outdated = _is_contradicted(statement, item, context)
                    retraction = retraction_after(statement.memory.text, statement.text)
                    answers[key] = _Answer(statement, match, item, outdated, retraction)
    return list(answers.values())


def _irrelevant_ids(results: Sequence[SearchResult]) -> set[str]:
    """Return the ids of memories that are far less relevant than the best one.

    A sentence may fit a question word by word and speak of another matter: "My kids finished a
    painting like the last one", asked what they like. What happened in a time is asked for whole.
    """
    relevance = {
        result.source.id: result.relevance
        for result in results
        if isinstance(result.source, Memory)
    }
    least = LEAST_SHARE * max(relevance.values(), default=0.0)
    return {id for id, value in relevance.items() if value < least}


def _with_correction(graph: GraphStore, answer: _Answer, filter: MemoryFilter) -> _Answer:
    """Return an answer with the next message of its speaker, if that corrects it.

    Args:
        graph: the store.
        answer: a statement that answers the question.
        filter: that of the question: what it leaves out is not quoted either.
    """
    memory = answer.statement.memory
    if answer.retraction or memory.speaker is None:
        return answer
    for messages in _said_soon(graph, memory, filter, {"speaker": memory.speaker}):
        if messages and (correction := correction_by(messages[0], memory)):
            return replace(answer, retraction=correction)
    return answer


def _is_put_off(graph: GraphStore, answer: _Answer, filter: MemoryFilter) -> bool:
    """Return True if one of the next messages, of whomever, wants another date for it.

    "Can we move it to Tuesday?": whether that was agreed is not known, nor is the date.
    """
    memory = answer.statement.memory
    if memory.speaker is None:
        return False
    return any(
        message.scope == memory.scope and asks_for_another_date(message.text)
        for messages in _said_soon(graph, memory, filter, {})
        for message in messages[:_NEXT_MESSAGES]
    )


def _said_soon(
    graph: GraphStore, memory: Memory, filter: MemoryFilter, condition: Mapping[str, object]
) -> Iterator[list[Memory]]:
    """Yield the next messages of each conversation of a memory, in their order.

    Args:
        graph: the store.
        memory: a message.
        filter: that of the question.
        condition: what else must be true of the messages.
    """
    after = {"mentioned_at": {"$gt": memory.mentioned_at}}
    until = {"mentioned_at": {"$lte": memory.mentioned_at + CORRECTION_TIME}}
    soon = {"$and": [after, until, *([condition] if condition else [])]}
    where = (*filter.where, *conditions(soon))
    for document_id in sorted(documents_of(memory)):
        said_soon = replace(filter, document_id=document_id, where=where)
        page = graph.list_memories(memory.bank_id, said_soon, limit=MAX_STATEMENTS)
        yield sorted(page.items, key=lambda message: message.mentioned_at)


def _is_contradicted(statement: Statement, item: ContextItem, context: Context) -> bool:
    """Return True if newer memories contradict this statement itself, not another of its memory."""
    if not item.stale or isinstance(item.source, MentalModel):
        return item.stale
    memory, facts, own = item.source, list(_facts(context)), statement.own_text
    return own in contradicted_statements(memory, facts, [own])


def _facts(context: Context) -> Iterator[Memory]:
    """Yield the memories of a context, each once."""
    memories = (item.source for item in context.items if isinstance(item.source, Memory))
    yield from {memory.id: memory for memory in memories}.values()


def _own_words_as_memory(model: MentalModel) -> Memory:
    """Return a mental model's own words as a memory, without the lines that quote memories."""
    own = [line for line in model.text.splitlines() if not line.lstrip().startswith("- ")]
    return Memory(
        id=model.id, bank_id=model.bank_id, text="\n".join(own), mentioned_at=model.refreshed_at
    )


def _is_within(memory: Memory, window: TimeSpan) -> bool:
    """Return True if a time the memory names, or else the time it was said, overlaps the window."""
    if memory.occurred:
        return any(t.start < window.end and window.start < t.end for t in memory.occurred)
    return window.start <= memory.mentioned_at < window.end


def _asker(context: Context) -> str:
    """Return the single named speaker of the memories, whom "I" refers to; else ""."""
    speakers = {
        item.source.speaker.casefold()
        for item in context.items
        if isinstance(item.source, Memory)
        and item.source.speaker
        and item.source.type is not MemoryType.EXPERIENCE
    }
    return speakers.pop() if len(speakers) == 1 else ""


def _current_answers(answers: Sequence[_Answer], query: Query, context: Context) -> list[_Answer]:
    """Return the answers that hold at the time of the question; all of them if none does.

    A question for a former state is answered with statements up to the change that ended it.
    """
    if query.asks_former:
        since_change = _after_last_change([answer for answer in answers if not answer.is_outdated])
        following = [
            answer for answer in answers if query.followed_by <= set(lexemes(answer.statement.text))
        ]
        last_following = max((answer.said_at for answer in following), default=None)
        past_answers = [
            answer for answer in answers if answer not in since_change or answer.match.is_former()
        ]
        answers = [
            answer for answer in past_answers if last_following and answer.said_at <= last_following
        ]
    elif not query.past:
        answers = [answer for answer in answers if answer.match.of_kind()] or answers
        current = [answer for answer in answers if not answer.is_outdated]
        answers = current or _replacements(answers, query, context) or answers
        answers = _after_last_change(answers)
        answers = _endings_by_short_name(answers, query, context) or answers
    elif query.asked is Asked.WHEN:
        answers = _after_last_change(answers)
    return sorted(answers, key=lambda answer: answer.said_at, reverse=True)[:MAX_STATEMENTS]


def _replacements(answers: Sequence[_Answer], query: Query, context: Context) -> list[_Answer]:
    """Return statements of newer memories that contradict the answers."""
    facts = {item.id: item for item in context.items if isinstance(item.source, Memory)}
    replacements: dict[str, _Answer] = {}
    for answer in answers:
        older = replace(answer.statement.memory, text=answer.statement.own_text)
        ends_yes = answer.match.verdict() is True
        for newer in _contradicting_memories(answer, older, context):
            for statement in statements(newer):
                newer_statement = replace(newer, text=statement.text)
                if isinstance(answer.item.source, MentalModel) or contradicts(
                    newer_statement, older
                ):
                    match, item = Match(statement, query), facts[newer.id]
                    replacement = _Answer(
                        statement, match, item, is_replacement=True, ends_yes=ends_yes
                    )
                    replacements[statement.text] = replacement
    return list(replacements.values())


def _contradicting_memories(answer: _Answer, older: Memory, context: Context) -> list[Memory]:
    """Return the memories that contradict a statement and are not contradicted themselves."""
    memories = list(_facts(context))
    if not isinstance(answer.item.source, MentalModel):
        return overtaking(older, memories)
    ids = contradicting(replace(answer.item.source, text=older.text), memories)
    overtaken = contradicted([memory for memory in memories if memory.id in ids])
    return [memory for memory in memories if memory.id in ids and memory.id not in overtaken]


def _with_hints(
    answers: list[_Answer], query: Query, context: Context, beside: Set[str]
) -> list[_Answer]:
    """Add the latest statements that hint that an answer no longer holds.

    Of those that are `beside` the question only what names nothing else, as in "I got fired": "I
    sold forty tickets" tells of the tickets.
    """
    since = [*_done_since(answers, query, context), *_moved_since(answers, query, context)]
    answers = [*since, *answers]
    asks_of_now = query.tense in ("present", "future") and not query.asks_former
    if (
        not asks_of_now
        or not answers
        or query.asked in _PERMANENT
        or any(answer.is_replacement for answer in answers)
    ):
        return answers
    texts = {answer.statement.text for answer in answers}
    items = {item.id: item for item in context.items if isinstance(item.source, Memory)}
    hints = {
        text_fingerprint(statement.text): _Answer(statement, match, items[memory.id], is_hint=True)
        for memory in _facts(context)
        for statement in statements(memory)
        if statement.text not in texts
        and all(_may_be_later(statement, answer) for answer in answers)
        for match in (Match(statement, query),)
        if not (memory.id in beside and match.names_a_thing())
        and any(match.may_end(answer.statement.sentence) for answer in answers)
    }
    latest = sorted(hints.values(), key=lambda hint: hint.said_at, reverse=True)
    return [*latest[:MAX_HINTS], *answers]


def _done_since(answers: Sequence[_Answer], query: Query, context: Context) -> list[_Answer]:
    """Return what the subject did after it was said that it had not done so yet.

    "Ana paid on Monday" says no more of the rent than that she may have paid it.
    """
    if query.asked is not Asked.WHETHER or query.subject is None or not answers:
        return []
    if not all(answer.match.is_pending() for answer in answers):
        return []
    latest = max(answer.said_at for answer in answers)
    short = replace(query, terms=(query.subject,))
    return [
        replace(answer, is_hint=True)
        for answer in _matching_answers(context, short, ())
        if answer.said_at > latest and any(map(answer.match.is_past, answer.match.verbs()))
    ][:MAX_HINTS]


def _moved_since(answers: Sequence[_Answer], query: Query, context: Context) -> list[_Answer]:
    """Return the latest statements that what is asked about was moved to another time.

    "The trip is moved" tells no new day, but that the one told before may no longer be right.
    """
    if query.asked is not Asked.WHEN or not answers:
        return []
    terms = (term.stems for term in query.terms if not (term.is_name or term.is_self))
    things = frozenset[str]().union(*terms)
    latest = max(answer.said_at for answer in answers)
    items = {item.id: item for item in context.items if isinstance(item.source, Memory)}
    moved = [
        _Answer(statement, Match(statement, query), items[memory.id], is_hint=True)
        for memory in _facts(context)
        if memory.mentioned_at > latest
        for statement in statements(memory)
        if tells_move_of(statement.sentence, things)
    ]
    return sorted(moved, key=lambda hint: hint.said_at, reverse=True)[:MAX_HINTS]


def _may_be_later(statement: Statement, answer: _Answer) -> bool:
    """Return True if a statement was said after the answer, or at the same time."""
    memory, answer_memory = statement.memory, answer.statement.memory
    if memory.id == answer_memory.id:
        sentence, answer_sentence = statement.sentence.text, answer.statement.sentence.text
        return memory.text.find(sentence) > memory.text.find(answer_sentence)
    return memory.mentioned_at >= answer.said_at


def _endings_by_short_name(
    answers: Sequence[_Answer], query: Query, context: Context
) -> list[_Answer]:
    """Return endings that use a short name: "the club" for "the chess club"."""
    index = query.terms.index(query.subject) if query.subject in query.terms else 0
    if not answers or index == 0 or query.terms[index - 1].is_name:
        return []
    short = replace(query, terms=(*query.terms[: index - 1], *query.terms[index:]))
    question_lexemes = frozenset[str]().union(query.verb, *(term.stems for term in query.terms))
    answer_lexemes = lexemes_of(answer.statement.text for answer in answers) - question_lexemes
    latest = max(answer.said_at for answer in answers)
    return [
        replace(answer, is_replacement=True)
        for answer in _matching_answers(context, short, ())
        if answer.said_at > latest
        and answer.match.ends()
        and answer_lexemes & set(lexemes(answer.statement.text))
    ]


def _after_last_change(answers: Sequence[_Answer]) -> list[_Answer]:
    """Return the answers since the last one that replaces older values.

    Somebody who moved lives elsewhere, and what is "now" on Mondays is on no other day.
    """
    changes = [answer.said_at for answer in answers if answer.match.replaces()]
    return [answer for answer in answers if not changes or answer.said_at >= max(changes)]


def _answer_text(
    query: Query, answers: Sequence[_Answer], context: Context, asked_at: datetime
) -> str:
    """Return the answer's text: one quotation or a list; dated if the question asks when."""
    lines = [(answer, _quotation(answer, asked_at)) for answer in answers]
    if query.asked is Asked.EVENTS:
        return _dated_list((answer.match.event_time(), quoted) for answer, quoted in lines)
    if query.asked is Asked.WHEN:
        hinted = any(answer.is_hint for answer in answers)
        return _dated_list(
            (None if hinted or answer.retraction else answer.match.time(), quoted)
            for answer, quoted in lines
        )
    if not answers:
        return ""
    lead = _value_prefix(query, answers, context)
    if len(answers) == 1:
        return f"{lead}{lines[0][1]}"
    listed = "\n".join(f"- {quoted}" for _, quoted in lines)
    return f"{lead.rstrip()}\n{listed}" if lead else listed


def _dated_list(lines: Iterable[tuple[TimeSpan | None, str]]) -> str:
    """Return a list of quotations by time; those without a time come last."""
    lines = list(lines)
    dated = sorted((span, quoted) for span, quoted in lines if span)
    undated = (f"- {quoted}" for span, quoted in lines if not span)
    return "\n".join([*(f"- {when(span)}: {quoted}" for span, quoted in dated), *undated])


def _quotation(answer: _Answer, asked_at: datetime) -> str:
    """Render a statement in quotation marks, with speaker, date and label.

    What was said on the day of the question needs no date.
    """
    speaker = as_line(answer.statement.memory.speaker or "")
    words = as_item(f"{answer.statement.text} {answer.retraction}".rstrip())
    notes = []
    if answer.said_at.date() != asked_at.date():
        verb = "written" if isinstance(answer.item.source, MentalModel) else "said"
        notes.append(f"{verb} {day_text(answer.said_at)}")
    if answer.is_outdated:
        notes.append("changed since")
    note = f" ({', '.join(notes)})" if notes else ""
    return f"{f'{speaker}: ' if speaker else ''}“{words}”{note} [{answer.item.label}]"


def _value_prefix(query: Query, answers: Sequence[_Answer], context: Context) -> str:
    """Return the number, "Yes" or "No" on which all answers agree, as a prefix; else "".

    None is given where a later memory speaks of the matter in other words: it may say otherwise.
    """
    if any(answer.is_replacement for answer in answers):
        return "No: " if query.still and all(answer.ends_yes for answer in answers) else ""
    if any(answer.is_hint or not answer.holds for answer in answers) or _may_be_changed_later(
        query, answers, context
    ):
        return ""
    values: set[str | None] = set()
    for answer in answers:
        if query.asked is Asked.WHETHER:
            values.add({True: "Yes", False: "No", None: None}[answer.match.verdict()])
        else:
            values.add(answer.match.number() if query.asked is Asked.NUMBER else None)
    value = values.pop() if len(values) == 1 else None
    return f"{value}: " if value else ""


def _may_be_changed_later(query: Query, answers: Sequence[_Answer], context: Context) -> bool:
    """Return True if a statement after the answers may change them.

    That is what shares half of the question's words, names aside; or one, and tells of a change.
    """
    latest = max(answer.said_at for answer in answers)
    asked_stems = [term.stems for term in query.terms if not term.is_name]
    asked_stems += [query.verb] if query.verb else []
    for memory in _facts(context):
        if memory.mentioned_at <= latest:
            continue
        for statement in statements(memory):
            words = set(lexemes(statement.text))
            shared_count = sum(not stems.isdisjoint(words) for stems in asked_stems)
            changes = not _CHANGE_LEMMAS.isdisjoint(word.lemma for word in statement.sentence.words)
            if shared_count and (
                2 * shared_count >= len(asked_stems) or changes or Match(statement, query).ends()
            ):
                return True
    return False


def _text_with_causes(
    deps: RecallDependencies,
    bank: StoredBank,
    request: RecallRequest,
    context: Context,
    query: Query,
    answers: Sequence[_Answer],
) -> tuple[str, tuple[str, ...]]:
    """Return the text of the causes and the ids cited, for a question that asks why."""
    cited: list[tuple[str, tuple[str, ...]]] = [
        (_quotation(answer, request.asked_at), (answer.item.id,)) for answer in answers
    ]
    cited = cited or list(reasons(deps, bank, request, context, query))[:MAX_STATEMENTS]
    lines = list(dict.fromkeys(line for line, _ in cited))
    text = lines[0] if len(lines) == 1 else "\n".join(f"- {line}" for line in lines)
    return text, tuple(dict.fromkeys(id for _, ids in cited for id in ids))
