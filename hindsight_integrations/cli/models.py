"""`hindsight-memory models`: list the embedding models known by name, and install one."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Group, RenderableType
from rich.text import Text

from hindsight_integrations.cli.job import on_screen
from hindsight_integrations.cli.screen import Lines, Output, Screen
from hindsight_integrations.cli.tables import simple_table

if TYPE_CHECKING:
    from hindsight_integrations.nlp.model_files import ModelState

models = typer.Typer(no_args_is_help=True, help="Embedding models in addition to the bundled one.")


@models.command("list")
@on_screen
def show_models(screen: Screen) -> Output:
    """List the available models, and show which are installed."""
    from hindsight_integrations.nlp.model_files import list_models, models_folder

    states, folder = list_models(), models_folder()
    return Output(
        {"folder": folder, "models": [_data(each) for each in states]}, _drawing(states, folder)
    )


@models.command("add")
@on_screen
def add(
    screen: Screen,
    source: Annotated[
        Path, typer.Argument(metavar="JAR", help="A LangChain4j embeddings jar, or a folder.")
    ],
) -> Output:
    """Install a model from a jar or a folder. The SHA-256 of its files is checked."""
    from hindsight_integrations.nlp.model_files import add_model, models_folder

    state = add_model(source)
    name = state.model.name
    place = models_folder() / name
    return Output(_data(state), f"{name} is installed in {place}; use it with embedder={name!r}")


def _data(state: ModelState) -> dict[str, object]:
    model = state.model
    return {
        "name": model.name,
        "id": model.id,
        "dimension": model.dimension,
        "languages": model.languages,
        "licence": model.licence,
        "ready": state.ready,
        "state": state.state,
        "source": model.source or None,
    }


def _drawing(states: Sequence[ModelState], folder: Path) -> RenderableType:
    table = simple_table("model", "languages", "dimension", "licence", "state")
    for state in states:
        model = state.model
        colour = "green" if state.ready else ""
        table.add_row(
            Text(model.name),
            Text(model.languages),
            str(model.dimension),
            Text(model.licence),
            Text(state.state, colour),
        )
    missing = [state.model for state in states if not state.ready]
    lines = [f"{model.name} is not installed. {model.advice}" for model in missing]
    lines.append(f"Installed models are in {folder}")
    return Group(table, Lines("\n".join(lines), whole=True))
