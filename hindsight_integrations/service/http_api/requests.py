"""Bodies of requests, in the wire's own shape. Unknown fields are ignored, as Hindsight does."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, JsonValue

from hindsight_integrations import validation
from hindsight_integrations.errors import InvalidInputError

TagMode = Literal["any", "all", "any_strict", "all_strict", "exact"]
Texts = list[str]


def _time(value: object) -> datetime:
    """Return the time that ISO 8601 text tells; pydantic reads a bare number as seconds.

    One without a zone stays so: it is in that of the memory (`Settings.timezone`).
    """
    try:
        return datetime.fromisoformat(value if isinstance(value, str) else "")
    except ValueError as error:
        raise InvalidInputError(
            f"the time is {validation.shown(value)}; give ISO 8601 text, such as "
            "2024-05-07T13:56:00Z"
        ) from error


Time = Annotated[datetime, BeforeValidator(_time)]


class TextBlock(BaseModel):
    """A text among the blocks of a content."""

    type: Literal["text"]
    text: str


class OtherBlock(BaseModel):
    """An image or a file, which this engine cannot read."""

    type: Literal["image", "file"]


class EntityGiven(BaseModel):
    """An entity that the caller names; its type is not used."""

    text: str
    type: str | None = None


class RetainItem(BaseModel):
    """A text to retain.

    The strategy is not used: it names settings in the bank's configuration, where none can be
    set here, and Hindsight passes over a name that the configuration lacks.
    """

    content: str | list[TextBlock | OtherBlock]
    timestamp: str | None = None
    context: str | None = None
    metadata: dict[str, str | int | float | bool] | None = None
    document_id: str | None = None
    entities: list[EntityGiven] | None = None
    resolve_entities: bool = True
    tags: Texts | None = None
    observation_scopes: JsonValue = None
    strategy: str | None = None
    update_mode: Literal["replace", "append"] | None = None


class Retain(BaseModel):
    """Texts to retain; `async` asks for an operation."""

    model_config = ConfigDict(populate_by_name=True)

    items: list[RetainItem]
    asynchronous: bool = Field(False, alias="async")
    document_tags: Texts | None = None
    operation_id: str | None = None


class TagLeaf(BaseModel):
    """Tags that memories must have, in one of the modes."""

    tags: Texts
    match: TagMode = "any_strict"
    resolve: Literal["exact", "fuzzy"] = "exact"


class TagAnd(BaseModel):
    """Groups that must all hold."""

    groups: list[TagGroup] = Field(alias="and")


class TagOr(BaseModel):
    """Groups of which one must hold."""

    groups: list[TagGroup] = Field(alias="or")


class TagNot(BaseModel):
    """A group that must not hold."""

    inner: TagGroup = Field(alias="not")


TagGroup = TagLeaf | TagAnd | TagOr | TagNot


class Window(BaseModel):
    """A time that ranks memories; none is left out for it."""

    start: Time
    end: Time


class MinScores(BaseModel):
    """Least scores. A memory passes if it has each of them, and none is below what is asked."""

    model_config = ConfigDict(extra="forbid")

    semantic: float | None = None
    keyword: float | None = None
    reranker: float | None = None
    final: float | None = None


class TokenBudget(BaseModel):
    """Budget of what is included, in tokens."""

    max_tokens: int | None = Field(None, ge=0, le=10_000_000)


class SourceBudget(BaseModel):
    """Budgets of the memories that observations rest on, in tokens; -1 for any number."""

    max_tokens: int | None = Field(None, ge=-1, le=10_000_000)
    max_tokens_per_observation: int = Field(-1, ge=-1, le=10_000_000)


class RecallInclude(BaseModel):
    """Further parts of a recall's answer: entities, unless they are null, and what is named."""

    entities: TokenBudget | None = TokenBudget(max_tokens=None)
    chunks: TokenBudget | None = None
    source_facts: SourceBudget | None = None


Budget = Literal["low", "mid", "high"]
MaxTokens = Annotated[int, Field(ge=1, le=10_000_000)]


class Search(BaseModel):
    """Fields that a recall and a reflection share."""

    query: str
    budget: Budget | None = None
    max_tokens: MaxTokens | None = None
    tags: Texts | None = None
    tags_match: TagMode = "any"
    tag_groups: list[TagGroup] | None = None


class Recall(Search):
    """A question to recall memories for."""

    types: Texts | None = None
    prefer_observations: bool | None = None
    trace: bool = False
    query_timestamp: str | None = None
    include: RecallInclude | None = None
    min_scores: MinScores | None = None
    temporal_window: Window | None = None


class ReflectInclude(BaseModel):
    """Further parts of an answer."""

    facts: dict[str, JsonValue] | None = None
    tool_calls: dict[str, JsonValue] | None = None


class Reflect(Search):
    """A question to answer from memory."""

    context: str | None = None
    include: ReflectInclude | None = None
    response_schema: dict[str, JsonValue] | None = None
    apply_all_directives: bool = False
    fact_types: Texts | None = None
    exclude_mental_models: bool = False
    exclude_mental_model_ids: Texts | None = None
    reflect_search_observations_max_tokens: int | None = None
    reflect_search_observations_include_entities: bool | None = None


class Traits(BaseModel):
    """Disposition of a bank's agent, each trait 1 to 5; what is not given stays."""

    skepticism: int | None = Field(None, ge=1, le=5)
    literalism: int | None = Field(None, ge=1, le=5)
    empathy: int | None = Field(None, ge=1, le=5)


class BankGiven(BaseModel):
    """Fields of a bank; those of its configuration may stand beside them."""

    model_config = ConfigDict(extra="allow")

    name: str | None = None
    mission: str | None = None
    background: str | None = None
    disposition: Traits | None = None


class DispositionGiven(BaseModel):
    """A new disposition."""

    disposition: Traits


class Background(BaseModel):
    """Text to add to what an agent should know of itself."""

    content: str
    update_disposition: bool = True


class ConfigGiven(BaseModel):
    """Changes of a bank's configuration."""

    updates: dict[str, JsonValue]


class Consolidate(BaseModel):
    """Scopes to consolidate; all, unless some are named."""

    observation_scopes: list[Texts] | None = None


class MemoryChanges(BaseModel):
    """Corrections of a memory; what is not given stays."""

    text: str | None = None
    context: str | None = None
    occurred_start: str | None = None
    occurred_end: str | None = None
    mentioned_at: str | None = None
    fact_type: str | None = None
    entities: Texts | None = None
    resolve_entities: bool = True
    state: Literal["valid", "invalidated"] | None = None
    reason: str | None = None


class DocumentChanges(BaseModel):
    """New tags of a document."""

    tags: Texts | None = None
    observation_scopes: JsonValue = None


class DirectiveGiven(BaseModel):
    """A directive to add."""

    name: str
    content: str
    priority: int = 0
    is_active: bool = True
    tags: Texts | None = None


class DirectiveChanges(BaseModel):
    """Changes of a directive."""

    name: str | None = None
    content: str | None = None
    priority: int | None = None
    is_active: bool | None = None
    tags: Texts | None = None


class Trigger(BaseModel):
    """Trigger that has a mental model written again; other fields are taken at defaults only."""

    model_config = ConfigDict(extra="allow")

    refresh_after_consolidation: bool | None = None


class ModelGiven(BaseModel):
    """A mental model to write."""

    id: str | None = None
    name: str
    source_query: str
    tags: Texts | None = None
    max_tokens: MaxTokens | None = None
    trigger: Trigger | None = None


class ModelChanges(BaseModel):
    """Changes of a mental model."""

    name: str | None = None
    source_query: str | None = None
    tags: Texts | None = None
    max_tokens: MaxTokens | None = None
    trigger: Trigger | None = None


class Refresh(BaseModel):
    """Mode of refreshing a mental model: the whole text is written again."""

    mode: Literal["full"] | None = None


class TemplateDirective(DirectiveGiven):
    """A directive of a template."""


class TemplateModel(ModelGiven):
    """A mental model of a template."""

    id: str


class Template(BaseModel):
    """A bank's configuration, mental models and directives, without its memories."""

    version: str
    bank: dict[str, JsonValue] | None = None
    mental_models: list[TemplateModel] | None = None
    directives: list[TemplateDirective] | None = None


class FileMetadata(BaseModel):
    """Fields retained with a file."""

    document_id: str | None = None
    context: str | None = None
    metadata: dict[str, str | int | float | bool] | None = None
    tags: Texts | None = None
    timestamp: str | None = None
    parser: str | Texts | None = None
    strategy: str | None = None


class FilesGiven(BaseModel):
    """Fields retained with each of the files, in their order."""

    parser: str | Texts | None = None
    files_metadata: list[FileMetadata] | None = None
