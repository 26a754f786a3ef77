"""Bodies of answers, in the wire's own shape."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field, JsonValue

Counts = dict[str, int]


class Traits(BaseModel):
    """Disposition of a bank's agent."""

    skepticism: int
    literalism: int
    empathy: int


class BankItem(BaseModel):
    """A bank in a list."""

    bank_id: str
    name: str | None
    disposition: Traits
    mission: str
    created_at: str
    updated_at: str
    fact_count: int
    last_document_at: str | None = None
    last_write_at: str | None = None


class Slice(BaseModel):
    """A part of a list: `limit` items from `offset` on, of `total`."""

    total: int
    limit: int
    offset: int


class BankList(Slice):
    """Banks, by id."""

    banks: list[BankItem]


class Profile(BaseModel):
    """A bank's name, mission and disposition."""

    bank_id: str
    name: str
    disposition: Traits
    mission: str
    background: str


class BackgroundAdded(BaseModel):
    """The background after an addition."""

    mission: str
    background: str
    disposition: Traits


class Config(BaseModel):
    """Settings in force for a bank, and those of its own."""

    bank_id: str
    config: dict[str, JsonValue]
    overrides: dict[str, JsonValue]


class Stats(BaseModel):
    """Counts of a bank."""

    bank_id: str
    total_nodes: int
    total_links: int
    total_documents: int
    nodes_by_fact_type: Counts
    links_by_link_type: Counts
    links_by_fact_type: Counts
    links_breakdown: dict[str, Counts]
    pending_operations: int
    failed_operations: int
    operations_by_status: Counts
    last_consolidated_at: str | None = None
    last_memory_write_at: str | None = None
    pending_consolidation: int
    failed_consolidation: int = 0
    total_observations: int


class TimeBucket(BaseModel):
    """Memories of a stretch of time."""

    time: str
    world: int = 0
    experience: int = 0
    observation: int = 0


class Timeseries(BaseModel):
    """Memories of a period, in buckets of `trunc`."""

    bank_id: str
    period: str
    trunc: str
    time_field: str
    buckets: list[TimeBucket]


class Deleted(BaseModel):
    """Outcome of a deletion."""

    success: bool = True
    message: str
    deleted_count: int | None = None


class Submitted(BaseModel):
    """An operation that was begun, or is done."""

    operation_id: str
    status: str


class Consolidating(BaseModel):
    """The operation that consolidates."""

    operation_id: str
    deduplicated: bool = False


class Scope(BaseModel):
    """Observations that have just these tags."""

    tags: list[str]
    count: int


class ScopeList(Slice):
    """The tags that observations have together."""

    scopes: list[Scope]


class Usage(BaseModel):
    """Tokens of a language model."""

    input_tokens: int = 0
    output_tokens: int = 0
    total_tokens: int = 0


class Retained(BaseModel):
    """Outcome of a retain. With `async` the work is done too, and the operation completed."""

    model_config = ConfigDict(populate_by_name=True)

    success: bool = True
    bank_id: str
    items_count: int
    asynchronous: bool = Field(alias="async")
    operation_id: str | None = None
    operation_ids: list[str] | None = None
    usage: Usage | None = None


class FilesRetained(BaseModel):
    """The operation of each file."""

    operation_ids: list[str]


class MemoryItem(BaseModel):
    """A memory in a list."""

    id: str
    text: str
    context: str
    date: str
    fact_type: str
    document_id: str | None
    mentioned_at: str
    occurred_start: str | None
    occurred_end: str | None
    entities: str
    chunk_id: str | None
    proof_count: int
    tags: list[str]
    metadata: dict[str, JsonValue]
    state: str
    invalidation_reason: str | None
    invalidated_at: str | None
    edited_at: str | None
    updated_at: str
    source_memory_ids: list[str] | None


class MemoryList(Slice):
    """Memories, the latest stored first."""

    items: list[MemoryItem]


class MemoryDetail(BaseModel):
    """A memory with all that is known of it."""

    id: str
    text: str
    context: str
    date: str
    type: str
    mentioned_at: str
    occurred_start: str | None
    occurred_end: str | None
    entities: list[str]
    document_id: str | None
    chunk_id: str | None
    tags: list[str]
    metadata: dict[str, JsonValue]
    observation_scopes: JsonValue = None
    state: str
    invalidation_reason: str | None
    invalidated_at: str | None
    edited_at: str | None
    speaker: str | None
    proof_count: int
    source_memory_ids: list[str] | None


class HistoryEntry(BaseModel):
    """A change of a memory."""

    changed_at: str
    action: str
    field: str
    previous_text: str | None
    previous_value: str | None
    new_value: str | None
    reason: str | None


class ObservationsCleared(BaseModel):
    """Number of observations deleted."""

    deleted_count: int


class Scores(BaseModel):
    """Scores of a memory: `final` is its relevance, 0 to 1, the others those of the searches."""

    final: float
    reranker: float | None = None
    semantic: float | None = None
    keyword: float | None = None


class Result(BaseModel):
    """A memory that was recalled."""

    id: str
    text: str
    type: str
    entities: list[str]
    context: str | None
    occurred_start: str | None
    occurred_end: str | None
    mentioned_at: str
    document_id: str | None
    metadata: dict[str, str]
    chunk_id: str | None
    tags: list[str]
    source_fact_ids: list[str] | None = None
    scores: Scores | None = None


class Said(BaseModel):
    """An observation about an entity."""

    text: str
    mentioned_at: str | None


class EntityState(BaseModel):
    """An entity with the observations about it."""

    entity_id: str
    canonical_name: str
    observations: list[Said]


class ChunkText(BaseModel):
    """A part of a document."""

    id: str
    text: str
    chunk_index: int
    truncated: bool = False


class Recalled(BaseModel):
    """Memories, best first, and what was asked for beside them."""

    results: list[Result]
    trace: dict[str, JsonValue] | None = None
    entities: dict[str, EntityState] | None = None
    chunks: dict[str, ChunkText] | None = None
    source_facts: dict[str, Result] | None = None
    source_facts_truncated: bool | None = None


class Fact(BaseModel):
    """A memory that an answer rests on."""

    id: str
    text: str
    type: str
    context: str | None
    occurred_start: str | None
    occurred_end: str | None
    mentioned_at: str
    document_id: str | None
    chunk_id: str | None
    tags: list[str]
    metadata: dict[str, str]


class CitedModel(BaseModel):
    """A mental model that an answer rests on."""

    id: str
    text: str


class CitedDirective(BaseModel):
    """A directive that was in force."""

    id: str
    name: str
    content: str


class BasedOn(BaseModel):
    """Evidence of an answer."""

    memories: list[Fact]
    mental_models: list[CitedModel]
    directives: list[CitedDirective]


class ToolCall(BaseModel):
    """A search of a reflection."""

    tool: str
    input: dict[str, JsonValue]
    output: dict[str, JsonValue] | None
    duration_ms: int = 0


class Trace(BaseModel):
    """The searches of a reflection."""

    tool_calls: list[ToolCall]
    llm_calls: list[dict[str, JsonValue]]


class Reflected(BaseModel):
    """An answer from memory; without a language model, quotations with citations."""

    text: str
    based_on: BasedOn | None = None
    structured_output: dict[str, JsonValue] | None = None
    usage: Usage
    trace: Trace | None = None


class NodeData(BaseModel):
    """A memory in a graph."""

    id: str
    label: str
    text: str
    date: str
    context: str
    entities: str


class Node(BaseModel):
    """A node of a graph."""

    data: NodeData


class EdgeData(BaseModel):
    """A link of two memories."""

    model_config = ConfigDict(populate_by_name=True)

    id: str
    source: str
    target: str
    link_type: str = Field(alias="linkType")
    weight: float


class Edge(BaseModel):
    """An edge of a graph."""

    data: EdgeData


class Graph(BaseModel):
    """Memories and the links between them."""

    nodes: list[Node]
    edges: list[Edge]
    table_rows: list[MemoryItem]
    total_units: int
    limit: int


class Tag(BaseModel):
    """A tag, and the number of what has it."""

    tag: str
    count: int


class TagList(Slice):
    """Tags, the most frequent first."""

    items: list[Tag]


class DocumentItem(BaseModel):
    """A document in a list."""

    id: str
    bank_id: str
    content_hash: str
    created_at: str
    updated_at: str
    text_length: int
    memory_unit_count: int
    tags: list[str]


class DocumentList(Slice):
    """Documents, by id."""

    items: list[DocumentItem]


class DocumentDetail(BaseModel):
    """A document with its text."""

    id: str
    bank_id: str
    original_text: str
    content_hash: str
    created_at: str
    updated_at: str
    memory_unit_count: int
    nodes_by_fact_type: Counts
    tags: list[str]


class DocumentChanged(BaseModel):
    """A document was changed."""

    success: bool = True


class DocumentDeleted(BaseModel):
    """A document was deleted with its memories."""

    success: bool = True
    message: str
    document_id: str
    memory_units_deleted: int


class ChunkDetail(BaseModel):
    """A part of a document, with where it stands."""

    chunk_id: str
    document_id: str
    bank_id: str
    chunk_index: int
    chunk_text: str
    created_at: str


class ChunkList(Slice):
    """Parts of a document, in order."""

    items: list[ChunkDetail]


class EntityItem(BaseModel):
    """An entity in a list."""

    id: str
    canonical_name: str
    mention_count: int
    first_seen: str | None
    last_seen: str | None
    metadata: dict[str, JsonValue]


class EntityList(Slice):
    """Entities, the most mentioned first."""

    items: list[EntityItem]


class EntityDetail(EntityItem):
    """An entity with the observations about it."""

    observations: list[Said]


class EntityNodeData(BaseModel):
    """An entity in a graph."""

    model_config = ConfigDict(populate_by_name=True)

    id: str
    label: str
    mention_count: int = Field(alias="mentionCount")


class EntityNode(BaseModel):
    """A node of a graph of entities."""

    data: EntityNodeData


class EntityEdgeData(BaseModel):
    """Two entities that memories mention together, and the number of these memories."""

    model_config = ConfigDict(populate_by_name=True)

    id: str
    source: str
    target: str
    link_type: str = Field("cooccurrence", alias="linkType")
    weight: int


class EntityEdge(BaseModel):
    """An edge of a graph of entities."""

    data: EntityEdgeData


class EntityGraph(BaseModel):
    """The most mentioned entities, and which are mentioned together."""

    nodes: list[EntityNode]
    edges: list[EntityEdge]
    total_entities: int
    total_edges: int
    limit: int


class ModelTrigger(BaseModel):
    """Trigger that has a mental model written again."""

    mode: str = "full"
    refresh_after_consolidation: bool


class Model(BaseModel):
    """A mental model; `content` and what follows stand there as the asked detail has them."""

    id: str
    bank_id: str
    name: str
    tags: list[str]
    source_query: str | None = None
    content: str | None = None
    max_tokens: int | None = None
    trigger: ModelTrigger | None = None
    last_refreshed_at: str | None = None
    created_at: str | None = None
    is_knowledge_page: bool = False
    reflect_response: dict[str, JsonValue] | None = None
    is_stale: bool | None = None


class ModelList(Slice):
    """Mental models, by name."""

    items: list[Model]


class ModelCreated(BaseModel):
    """A mental model, and the operation that wrote it."""

    mental_model_id: str
    operation_id: str


class ModelChange(BaseModel):
    """A change of a mental model."""

    previous_content: str | None
    previous_reflect_response: JsonValue = None
    changed_at: str
    action: str
    field: str
    previous_value: str | None
    new_value: str | None


class DirectiveItem(BaseModel):
    """A directive of a bank."""

    id: str
    bank_id: str
    name: str
    content: str
    priority: int
    is_active: bool
    tags: list[str]
    created_at: str
    updated_at: str


class DirectiveList(Slice):
    """Directives, the highest priority first."""

    items: list[DirectiveItem]


class TemplateApplied(BaseModel):
    """Changes that a template made to a bank."""

    bank_id: str
    config_applied: bool
    mental_models_created: list[str]
    mental_models_updated: list[str]
    directives_created: list[str]
    directives_updated: list[str]
    operation_ids: list[str]
    dry_run: bool


class Health(BaseModel):
    """The state of the memory, and of each of its parts."""

    status: str
    parts: dict[str, str]


class Alive(BaseModel):
    """The process answers."""

    status: str
    version: str
    uptime_seconds: float


class Features(BaseModel):
    """Features of Hindsight that this server has."""

    observations: bool
    mcp: bool
    worker: bool
    bank_config_api: bool
    bank_llm_health: bool
    file_upload_api: bool
    document_export_api: bool
    document_import_api: bool
    audit_log: bool
    llm_trace: bool
    store_document_text: bool


class Version(BaseModel):
    """Version of Hindsight's interface that this server speaks, and its features."""

    api_version: str
    features: Features
