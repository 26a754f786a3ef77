"""`hindsight-memory reflect`, `context`, `consolidate`, and what was concluded from memories."""

from __future__ import annotations

from typing import Annotated

import typer

from hindsight_integrations.cli import tables
from hindsight_integrations.cli.filters import Filters, common_filters, filtered_by, search_options
from hindsight_integrations.cli.job import Job, namespace, on_memory
from hindsight_integrations.cli.namespaces import Cursor, Limit, Reason, Yes, confirm
from hindsight_integrations.cli.screen import FAILED, FOUND_NOTHING, Output
from hindsight_integrations.models import ObservationKind

observations = namespace("Conclusions drawn from several memories.")
opinions = namespace("Beliefs of the bank's agent.")
mental_models = namespace("Summaries that you curate.")

Query = Annotated[str, typer.Argument(metavar="QUERY", help="The question, or any text.")]
Kinds = Annotated[
    list[ObservationKind] | None,
    typer.Option("--kind", help="Only observations of this kind; repeatable."),
]
Confidence = Annotated[
    float, typer.Option("--min-confidence", min=0, max=1, help="Minimum confidence, 0 to 1.")
]
Model = Annotated[str, typer.Argument(metavar="ID", help="Id of the mental model.")]
Tags = Annotated[list[str] | None, typer.Option("--tag", help="A label; repeatable.")]
Name = Annotated[str | None, typer.Option(help="What it is about.")]
ModelText = Annotated[str | None, typer.Option(help="Its text.")]
SourceQuery = Annotated[str | None, typer.Option("--query", help="The question it answers.")]
Refresh = Annotated[
    bool | None,
    typer.Option("--auto-refresh/--no-auto-refresh", help="Refresh it when it is stale."),
]


@on_memory()
@filtered_by(common_filters, search_options)
def reflect(job: Job, query: Query, filters: Filters) -> Output:
    """Answer a question with quotations from memory and their citations.

    Exits with 3 if no memory answers it.
    """
    result = job.memory.reflect(job.bank, query, **filters)
    warnings = [f"{failure}; the result was made without it" for failure in result.failures]
    code = 0 if result else FOUND_NOTHING
    return Output(result, tables.reflection(result), warnings, code)


@on_memory()
@filtered_by(common_filters, search_options)
def context(job: Job, query: Query, filters: Filters) -> Output:
    """Write what the bank knows about a question as text for a prompt.

    Exits with 3 if the bank knows nothing about it.
    """
    result = job.memory.context(job.bank, query, **filters)
    warnings = [f"{failure}; the result was made without it" for failure in result.failures]
    return Output(result, result.text, warnings, 0 if result else FOUND_NOTHING)


@on_memory()
def consolidate(job: Job) -> Output:
    """Draw observations and update opinions from all pending memories."""
    result = job.memory.consolidate(job.bank)
    warnings = [
        f"{failure}; its memories stay pending until the next run" for failure in result.failures
    ]
    code = FAILED if result.failures else 0
    return Output(result, tables.consolidation(result), warnings, code)


@observations.command("list")
@on_memory()
def list_observations(
    job: Job,
    kinds: Kinds = None,
    min_confidence: Confidence = 0.0,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> Output:
    """List observations in the order they were first drawn."""
    page = job.memory.observations.list(
        job.bank, types=kinds or None, min_confidence=min_confidence, limit=limit, cursor=cursor
    )
    return Output(page, tables.conclusions(page))


@observations.command()
@on_memory()
def observe(
    job: Job,
    query: Query,
    kinds: Kinds = None,
    min_confidence: Confidence = 0.0,
    limit: Limit = 10,
    tags: Tags = None,
) -> Output:
    """Show the observations that answer a question, best first.

    Pending memories are consolidated first. Exits with 3 if there are none.
    """
    found = job.memory.observations.observe(
        job.bank,
        query,
        types=kinds or None,
        min_confidence=min_confidence,
        limit=limit,
        tags=tags or (),
    )
    code = 0 if found else FOUND_NOTHING
    return Output(found.observations, tables.evidence(found.observations), code=code)


@observations.command("add")
@on_memory()
def add_observation(
    job: Job,
    text: Annotated[str, typer.Argument(metavar="TEXT", help="Its text.")],
    source: Annotated[
        list[str] | None, typer.Option(help="Id of a memory it rests on; repeatable.")
    ] = None,
    kind: Annotated[
        ObservationKind | None,
        typer.Option(help="Its kind. (default that of an equal one, else generalization)"),
    ] = None,
    reasoning: Annotated[str, typer.Option(help="Why it follows.")] = "",
    confidence: Annotated[
        float | None, typer.Option(min=0, max=1, help="Confidence, 0 to 1.")
    ] = None,
    tags: Tags = None,
) -> Output:
    """Add an observation of your own."""
    made = job.memory.observations.add(
        job.bank,
        text,
        type=kind,
        sources=source or (),
        reasoning=reasoning,
        confidence=confidence,
        tags=tags or (),
    )
    return Output(made, tables.evidence([made]))


@opinions.command("list")
@on_memory()
def list_opinions(job: Job, limit: Limit = 50, cursor: Cursor = None) -> Output:
    """List opinions."""
    page = job.memory.opinions.list(job.bank, limit=limit, cursor=cursor)
    return Output(page, tables.conclusions(page))


@opinions.command("form")
@on_memory()
def form_opinions(
    job: Job,
    topic: Annotated[str, typer.Argument(metavar="TOPIC", help="A thing, person or question.")],
    scope: Annotated[str | None, typer.Option(help="Use only memories of this scope.")] = None,
) -> Output:
    """Form opinions on a topic from the bank's memories."""
    formed = job.memory.opinions.form(job.bank, topic, scope=scope)
    if not formed:
        none = f"No opinion on {topic!r}: too few memories judge it, or they disagree."
        return Output(formed, none, code=FOUND_NOTHING)
    return Output(formed, tables.evidence(formed))


@mental_models.command("list")
@on_memory()
def list_models(job: Job, tags: Tags = None) -> Output:
    """List mental models and show which are stale."""
    models = job.memory.mental_models.list(job.bank, tags=tags or ())
    stale = [bool(job.memory.mental_models.staleness(job.bank, model.id)) for model in models]
    data = [{"model": model, "stale": old} for model, old in zip(models, stale, strict=True)]
    return Output(data, tables.mental_models(models, stale))


@mental_models.command("show")
@on_memory()
def show_model(job: Job, model_id: Model) -> Output:
    """Show a mental model and what has changed since it was written."""
    model = job.memory.mental_models.get(job.bank, model_id)
    staleness = job.memory.mental_models.staleness(job.bank, model_id)
    data = {"model": model, "staleness": staleness}
    return Output(data, tables.mental_model(model, staleness))


@mental_models.command("create")
@on_memory()
def create_model(
    job: Job,
    name: Annotated[str, typer.Argument(metavar="NAME", help="What it is about.")],
    text: ModelText = None,
    source_query: SourceQuery = None,
    tags: Tags = None,
    auto_refresh: Refresh = False,
) -> Output:
    """Create a mental model from your own text (--text), or from memory (--query)."""
    if text is None and source_query is None:
        raise typer.BadParameter("give its text with --text, or its question with --query")
    made = job.memory.mental_models.create(
        job.bank,
        name,
        text=text,
        source_query=source_query,
        tags=tags or (),
        auto_refresh=bool(auto_refresh),
    )
    return Output(made, tables.mental_model(made))


@mental_models.command("update")
@on_memory()
def update_model(
    job: Job,
    model_id: Model,
    name: Name = None,
    text: ModelText = None,
    source_query: SourceQuery = None,
    tags: Tags = None,
    auto_refresh: Refresh = None,
    reason: Reason = None,
) -> Output:
    """Change the given fields of a mental model; the others stay."""
    changed = job.memory.mental_models.update(
        job.bank,
        model_id,
        name=name,
        text=text,
        source_query=source_query,
        tags=tags or None,
        auto_refresh=auto_refresh,
        reason=reason,
    )
    return Output(changed, tables.mental_model(changed))


@mental_models.command("refresh")
@on_memory()
def refresh_model(job: Job, model_id: Model) -> Output:
    """Rewrite a mental model from memory, as the answer to its question."""
    written = job.memory.mental_models.refresh(job.bank, model_id)
    return Output(written, tables.mental_model(written))


@mental_models.command("delete")
@on_memory()
def delete_model(job: Job, model_id: Model, yes: Yes = False) -> Output:
    """Delete a mental model; the memories it was written from stay."""
    known = job.memory.mental_models.get(job.bank, model_id)
    confirm(f"Delete the mental model {known.name!r}?", yes=yes)
    job.memory.mental_models.delete(job.bank, model_id)
    return Output({"deleted": model_id}, f"Deleted {known.name}")


@mental_models.command("history")
@on_memory()
def model_history(job: Job, model_id: Model) -> Output:
    """Show the changes of a mental model, oldest first."""
    changes = job.memory.mental_models.history(job.bank, model_id)
    if changes == []:
        job.memory.mental_models.get(job.bank, model_id)  # raises if there is none
    return Output(changes, tables.history(changes))
