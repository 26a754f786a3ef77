"""Ranked text search of the notes themselves, for use while the store is unavailable."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain

from hindsight_integrations.errors import InvalidInputError, NotFoundError
from hindsight_integrations.nlp.bm25 import K1, TermCounts, bm25, idf, lexemes
from hindsight_integrations.retain.markdown import markdown_sections
from hindsight_integrations.workspace.notes import NoteFolder
from hindsight_integrations.workspace.results import SearchHit


@dataclass(frozen=True, slots=True)
class _Section:
    """Lines [start, end] of a note, and the lexemes of their text and of the headings above."""

    text: str
    path: str
    start: int
    end: int
    terms: tuple[str, ...]


class FileSearch:
    """BM25 over the sections of all notes of a folder, read at each search."""

    def __init__(self, folder: NoteFolder) -> None:
        self._folder = folder
        self._cut: dict[str, tuple[str, list[_Section]]] = {}

    def search(self, query: str, most: int, min_score: float) -> list[SearchHit]:
        """Return the sections that share words with a query, best first.

        The score is the BM25 score as a share of its upper bound, which a section approaches that
        repeats every word of the query: from 0, for no word, to below 1.
        """
        sections = [*self._sections()]
        wanted = lexemes(query)
        if not wanted or not sections:
            return []
        asked = TermCounts.of([section.terms for section in sections], wanted)
        frequency = Counter(chain.from_iterable({*section.terms} for section in sections))
        best = (K1 + 1) * sum(idf(frequency[term], len(sections)) for term in asked.terms)
        scores = bm25(asked, frequency, len(sections), float(asked.lengths.mean())) / best
        ranked = sorted(range(len(sections)), key=lambda row: -scores[row])
        return [
            SearchHit(section.text, section.path, section.start, section.end, score, source="files")
            for section, score in ((sections[row], float(scores[row])) for row in ranked[:most])
            if score > 0 and score >= min_score
        ]

    def _sections(self) -> Iterator[_Section]:
        """Yield the sections of all notes; only those of changed notes are cut again."""
        known_sections, self._cut = self._cut, {}
        for path in self._folder.paths():
            try:
                text = self._folder.read(path).text
            except (NotFoundError, InvalidInputError):
                continue  # no text, or gone: a sync reports it
            known = known_sections.get(path)
            self._cut[path] = known if known and known[0] == text else (text, [*_cut(path, text)])
            yield from self._cut[path][1]


def _cut(path: str, text: str) -> Iterator[_Section]:
    for section in markdown_sections(text):
        own = section.text.strip()
        start = text.count("\n", 0, text.index(own, section.start)) + 1
        terms = lexemes("\n".join((*section.headings, own)))
        yield _Section(own, path, start, start + own.count("\n"), tuple(terms))
