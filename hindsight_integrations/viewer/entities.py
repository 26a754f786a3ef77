"""Pages on entities: their list, one with its memories and times, and corrections."""

from __future__ import annotations

from fastapi import APIRouter
from fastapi.responses import HTMLResponse, RedirectResponse

from hindsight_integrations import validation
from hindsight_integrations.errors import InvalidInputError
from hindsight_integrations.models import Entity, Page
from hindsight_integrations.viewer.notices import Notice
from hindsight_integrations.viewer.pages import PER_PAGE, FormDep, PageRequest, PageRequestDep

router = APIRouter(default_response_class=HTMLResponse)

SUGGESTIONS = 10
"""Pairs of entities shown that may be one."""

MOVED = 1000
"""Most memories of a merge that is undone exactly: as many as one page lists."""


@router.get("/entities")
def entities(request: PageRequestDep) -> HTMLResponse:
    """List the entities of a bank, or those of similar names."""
    name = request.query.get("name")
    if name:
        graph, wanted = request.memory.runtime.graph, validation.label("name", name)
        request.memory.banks.get(request.bank_id)
        similar = graph.similar_entities(request.bank_id, [wanted], PER_PAGE)[wanted]
        found = Page(similar, len(similar))
    else:
        found = request.memory.entities.list(
            request.bank_id, limit=PER_PAGE, cursor=request.query.get("cursor")
        )
    return request.page("entities.html", found=found, name=name)


@router.get("/suggestions")
def suggestions(request: PageRequestDep) -> HTMLResponse:
    """List pairs of entities that may be one; to compare many takes seconds, and comes second."""
    request.memory.banks.get(request.bank_id)
    found = None
    if request.value("compared"):
        found = request.memory.entities.suggest_merges(request.bank_id, limit=SUGGESTIONS)
    return request.page("suggestions.html", suggestions=found)


@router.get("/entity")
def entity(request: PageRequestDep) -> HTMLResponse:
    """Show an entity, what it is mentioned with, and the memories that mention it."""
    found, of = _found(request), request.memory.entities
    return request.page(
        "entity.html",
        entity=found,
        companions=of.companions(request.bank_id, found.id, limit=12),
        mentions=of.mentions(
            request.bank_id, found.id, limit=PER_PAGE, cursor=request.query.get("cursor")
        ),
    )


def _found(request: PageRequest, name: str = "id") -> Entity:
    return request.memory.entities.get(request.bank_id, request.required(name))


@router.get("/entity/rename")
def ask_rename(request: PageRequestDep) -> HTMLResponse:
    """Show the form of an entity's names."""
    return request.page("entity_rename.html", entity=_found(request))


@router.post("/entity/rename")
def rename(request: PageRequestDep, form: FormDep) -> RedirectResponse:
    """Give an entity another name; the old one becomes an alias."""
    old, of, bank_id = _found(request), request.memory.entities, request.bank_id
    new = of.rename(bank_id, old.id, form.text("name").strip())

    def undo() -> str:
        of.rename(bank_id, new.id, old.name)
        return f"It is called {old.name} again, and {new.name} is an alias."

    return request.done(
        Notice(f"Renamed from {old.name} to {new.name}.", undo), "entity", id=old.id
    )


@router.get("/entity/merge")
def ask_merge(request: PageRequestDep) -> HTMLResponse:
    """Ask which entity another is, or show both and ask for confirmation."""
    source, target = _found(request), None
    problem = None
    if request.query.get("into"):
        target = _found(request, "into")
        if target.id == source.id:
            problem, target = f"{source.name} is that entity already; name another.", None
    similar: tuple[Entity, ...] = ()
    if target is None:
        graph = request.memory.runtime.graph
        near = graph.similar_entities(request.bank_id, [source.name], 8)[source.name]
        similar = tuple(one for one in near if one.id != source.id)
    return request.page(
        "entity_merge.html", entity=source, target=target, similar=similar, problem=problem
    )


@router.post("/entity/merge")
def merge(request: PageRequestDep, form: FormDep) -> RedirectResponse:
    """Make one entity of two."""
    source, target = _found(request), _found(request, "into")
    of, bank_id = request.memory.entities, request.bank_id
    moved = _moved_by_merge(request, source, target)
    merged = of.merge(bank_id, source.id, target.id)

    def undo() -> str:
        of.split(bank_id, merged.id, source.name, moved)
        return f"{source.name} is an entity of its own again."

    notice = Notice(f"{source.name} is {target.name} now.", undo if moved else None)
    return request.done(notice, "entity", id=merged.id)


def _moved_by_merge(request: PageRequest, source: Entity, target: Entity) -> list[str]:
    """Return the memories that a split would have to give back; none if it could not be exact."""
    if source.aliases or source.mention_count > MOVED:
        return []
    listed = request.memory.memories.list(
        request.bank_id, entity=source.id, state="any", limit=MOVED
    ).items
    shared = any(target.name in memory.entities for memory in listed)
    return [] if shared else [memory.id for memory in listed]


@router.get("/entity/split")
def ask_split(request: PageRequestDep) -> HTMLResponse:
    """Show the memories that mention an entity, to choose those that mean another one."""
    found = _found(request)
    mentions = request.memory.entities.mentions(
        request.bank_id, found.id, limit=PER_PAGE, cursor=request.query.get("cursor")
    )
    return request.page("entity_split.html", entity=found, mentions=mentions)


@router.post("/entity/split")
def split(request: PageRequestDep, form: FormDep) -> RedirectResponse:
    """Make an entity of its own of what some memories mention."""
    old, of, bank_id = _found(request), request.memory.entities, request.bank_id
    chosen = form.all("memory")
    if not chosen:
        raise InvalidInputError("no memory was chosen; tick those that mention the new entity")
    new = of.split(bank_id, old.id, form.text("name").strip(), chosen)

    def undo() -> str:
        of.merge(bank_id, new.id, old.id)
        return f"{old.name} is one entity again, and {new.name} is an alias of it."

    return request.done(Notice(f"{new.name} was split from {old.name}.", undo), "entity", id=new.id)


@router.post("/entity/apart")
def keep_apart(request: PageRequestDep, form: FormDep) -> RedirectResponse:
    """Refuse for good that two entities are one."""
    one, other = _found(request), _found(request, "into")
    request.memory.entities.keep_apart(request.bank_id, one.id, other.id)
    return request.done(Notice(f"{one.name} and {other.name} stay two."), "suggestions")
