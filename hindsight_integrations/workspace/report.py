"""The report of a migration, as Markdown and as HTML."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from hindsight_integrations.private import create_private
from hindsight_integrations.results import Reflection
from hindsight_integrations.workspace.migration import (
    Comparison,
    MigrationPlan,
    Review,
    Stage,
)
from hindsight_integrations.workspace.results import SearchHit, escaped, hit_table

_STYLE = (
    "body{font:16px/1.5 sans-serif;max-width:60em;margin:2em auto;padding:0 1em}"
    "table{border-collapse:collapse;width:100%}"
    "td,th{border:1px solid #ccc;padding:.3em .5em;text-align:left;vertical-align:top}"
)


@dataclass(frozen=True, slots=True)
class MigrationReport:
    """A migration: its plan, its outcome, and how searches change by it.

    Attributes:
        plan: the notes that there are.
        review: what the bank holds of them.
        comparisons: hits of the old search beside those of the memory.
        answers: answers to questions that need many notes.
    """

    plan: MigrationPlan
    review: Review
    comparisons: Sequence[Comparison] = ()
    answers: Sequence[Reflection] = ()

    @property
    def markdown(self) -> str:
        """The report as Markdown; texts of notes are escaped."""
        return "\n".join(self._lines()) + "\n"

    @property
    def html(self) -> str:
        """The report as one HTML page, without scripts or other files."""
        from markdown_it import MarkdownIt

        body = MarkdownIt("commonmark", {"html": False}).enable("table").render(self.markdown)
        return (
            '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
            f"<title>Migration</title><style>{_STYLE}</style></head>\n<body>\n{body}</body></html>\n"
        )

    def write(self, path: Path) -> tuple[Path, Path]:
        """Write the report beside `path` with the endings .md and .html; return both paths.

        New files are their user's alone.
        """
        files = path.with_suffix(".md"), path.with_suffix(".html")
        for file, text in zip(files, (self.markdown, self.html), strict=True):
            create_private(file)
            file.write_text(text, encoding="utf-8")
        return files

    def _lines(self) -> Iterator[str]:
        yield "# Migration"
        yield from plan_lines(self.plan)
        yield from review_lines(self.review)
        if self.comparisons:
            yield from _comparison_lines(self.comparisons)
        if self.answers:
            yield from ("", "## Answers")
            for answer in self.answers:
                yield from ("", f"### {escaped(answer.query)}", "")
                if answer:
                    yield from (f"> {escaped(line)}  " for line in answer.text.splitlines())
                else:
                    yield from ("No memory states it. Nearest to it:", "")
                    for item in answer.context:
                        yield f"- {escaped(item.text.removeprefix('- '))}"


def plan_lines(plan: MigrationPlan) -> Iterator[str]:
    """Yield counts and estimates of a plan as Markdown."""
    yield from ("", "## Notes", "", "| stage | notes | tokens | sections |", "|---|---|---|---|")
    for stage in Stage:
        notes = plan.of(stage)
        tokens, sections = (sum(n.tokens for n in notes), sum(n.sections for n in notes))
        yield f"| {stage} | {len(notes)} | {tokens:,} | {sections} |"
    yield from ("", f"Estimate: {plan.seconds:.0f} seconds without a language model.")
    yield from (f"- refused: {escaped(event.detail or event.path)}" for event in plan.refused)


def review_lines(review: Review) -> Iterator[str]:
    """Yield a review as Markdown."""
    yield from ("", "## Memories of each note", "", "| note | memories |", "|---|---|")
    yield from (f"| {escaped(path)} | {count} |" for path, count in sorted(review.facts.items()))
    yield from ("", f"## Merged entities ({len(review.merged)})", "")
    for entity in review.merged:
        names = ", ".join(map(escaped, entity.aliases))
        yield f"- {escaped(entity.name)} ({entity.kind}, {entity.mention_count} mentions): {names}"
    yield from ("", f"## Suspicious extractions ({len(review.suspicious)})", "")
    for one in review.suspicious:
        place = escaped(one.memory.document_id or "")
        yield f"- {place}: {escaped(one.memory.text)} ({one.reason})"
    yield from ("", f"## Observations ({len(review.observations)})", "")
    for seen in review.observations:
        yield f"- {escaped(seen.text)} ({seen.proof_count} memories, {seen.confidence:.2f})"


def _comparison_lines(comparisons: Sequence[Comparison]) -> Iterator[str]:
    yield from ("", "## Searches: of the files, and of the memory")
    for each in comparisons:
        shared = {_place(hit) for hit in each.files} & {_place(hit) for hit in each.memory}
        yield from ("", f"### {escaped(each.query)}", "", f"{len(shared)} places in both.", "")
        yield from hit_table(each.files, each.memory)


def _place(hit: SearchHit) -> tuple[str, int]:
    return hit.path, hit.start_line
