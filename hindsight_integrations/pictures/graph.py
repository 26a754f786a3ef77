"""`BankGraph`: the people, places and things of a bank, and which memories connect them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product
from typing import TYPE_CHECKING, NamedTuple
from xml.etree import ElementTree as ET

from hindsight_integrations import display
from hindsight_integrations.errors import MissingExtraError
from hindsight_integrations.models import Entity
from hindsight_integrations.pictures.drawing import (
    SMALL,
    TEXT_SIZE,
    TITLE_SIZE,
    Drawing,
    clean,
    cut,
    shape_of,
    width,
)
from hindsight_integrations.pictures.layout import positions
from hindsight_integrations.pictures.picture import InteractivePicture, page
from hindsight_integrations.rendering import as_json

if TYPE_CHECKING:
    import networkx as nx

DRAWN_PER_ENTITY = 2.5
"""Connections drawn for each entity, the strongest: with more, none can be followed."""

SENT = 3000
"""Connections in an interactive picture, the strongest."""

SMALLEST, LARGEST = 5.0, 17.0
"""Radius of an entity with one mention, and of the one most mentioned."""

LEAST_OPACITY = 0.35
"""Opacity of the connections of a large graph: those of small ones hide nothing."""

NAME_WIDTH = 150.0
"""Widest name drawn; longer ones are cut."""

NAMED_FIRST = 25
"""Entities, those most mentioned, whose names may cover the marks of others."""

HEAD, FOOT, MARGIN = 62.0, 40.0, 60.0

LISTED, COMPANIONS = 15, 5
"""Entities in the text, and connections listed of each."""


@dataclass(frozen=True, slots=True)
class Connection:
    """Two entities that memories mention together.

    Attributes:
        source: id of the one that more memories mention.
        target: id of the other.
        memories: number of memories that mention both.
    """

    source: str
    target: str
    memories: int


class _Box(NamedTuple):
    left: float
    top: float
    right: float
    bottom: float

    def meets(self, other: _Box) -> bool:
        """Return True if the boxes overlap."""
        return (
            self.left < other.right
            and other.left < self.right
            and self.top < other.bottom
            and other.top < self.bottom
        )

    def within(self, other: _Box) -> bool:
        """Return True if the box lies in another."""
        return (
            self.left >= other.left
            and self.right <= other.right
            and self.top >= other.top
            and self.bottom <= other.bottom
        )


class _Taken:
    """Boxes by the squares of a grid that they touch: few have to be compared."""

    _SQUARE = 60.0

    def __init__(self) -> None:
        self._by_square: dict[tuple[int, int], list[_Box]] = {}

    def add(self, box: _Box) -> None:
        """Take the place of a box."""
        for square in self._squares(box):
            self._by_square.setdefault(square, []).append(box)

    def meets(self, box: _Box) -> bool:
        """Return True if the box overlaps one that is taken."""
        found = self._by_square
        return any(box.meets(other) for at in self._squares(box) for other in found.get(at, ()))

    def _squares(self, box: _Box) -> Iterator[tuple[int, int]]:
        left, top, right, bottom = (int(value // self._SQUARE) for value in box)
        return product(range(left, right + 1), range(top, bottom + 1))


@dataclass(frozen=True, repr=False)
class BankGraph(InteractivePicture):
    """Entities of a bank and their connections: a picture, and data for other programs.

    Attributes:
        bank_id: the bank.
        entities: those shown, most mentioned first; `mention_count` counts the memories chosen.
        connections: between those shown, strongest first.
        memories: number of memories that were chosen and counted.
        known: number of entities that these memories mention.
        center: the entity in the middle, if one was asked for.
        hops: most connections between it and the others.
        examples: by entity id, and by both ids of a connection, texts of the latest memories.
    """

    bank_id: str
    entities: tuple[Entity, ...]
    connections: tuple[Connection, ...]
    memories: int
    known: int
    center: Entity | None = None
    hops: int = 0
    examples: Mapping[str | tuple[str, str], tuple[str, ...]] = field(default_factory=dict)

    @property
    def title(self) -> str:
        """Title of the picture."""
        around = f" around {self.center.name}" if self.center else ""
        return f"Entities of {self.bank_id}{around}"

    @property
    def note(self) -> str:
        """Sentence that says what is shown, and what is not."""
        shown, drawn = len(self.entities), len(self._drawn)
        most = "all" if shown == self.known else "the most mentioned"
        if self.center:
            most = f"the nearest, within {display.counted(self.hops, 'hop')}"
        entities = f"{shown} of {display.counted(self.known, 'entity')} ({most})"
        lines = f"{drawn} of {display.counted(len(self.connections), 'connection')}"
        memories = display.counted(self.memories, "memory")
        strongest = "" if drawn == len(self.connections) else " (the strongest)"
        return f"{entities}, {lines}{strongest}, from {memories}."

    @cached_property
    def _drawn(self) -> tuple[Connection, ...]:
        """The strongest connections, and the strongest of each entity."""
        most = round(DRAWN_PER_ENTITY * len(self.entities))
        chosen = dict.fromkeys(self.connections[:most])
        joined = {end for each in chosen for end in (each.source, each.target)}
        for each in self.connections[most:]:
            if not {each.source, each.target} <= joined:
                chosen[each] = None
                joined |= {each.source, each.target}
        return tuple(chosen)

    # Data

    def to_networkx(self) -> nx.Graph[str]:
        """Return an undirected networkx graph, its nodes the ids of the entities.

        Nodes carry `name`, `kind`, `mentions` and `aliases`, edges `memories` and `weight`, which
        are equal: algorithms of networkx read the latter.

        Raises:
            MissingExtraError: networkx is not installed.
        """
        try:
            import networkx as nx
        except ImportError as error:
            raise MissingExtraError(
                "to_networkx and GraphML need the pictures extra: "
                'pip install "hindsight-integrations[pictures]"'
            ) from error
        made: nx.Graph[str] = nx.Graph(bank=self.bank_id)
        for entity in self.entities:
            made.add_node(entity.id, **_fields(entity))
        for one in self.connections:
            made.add_edge(one.source, one.target, memories=one.memories, weight=one.memories)
        return made

    def to_graphml(self) -> str:
        """Return GraphML, for Gephi, yEd, Cytoscape and igraph; aliases are joined by "; ".

        Raises:
            MissingExtraError: networkx is not installed.
        """
        graph = self.to_networkx()
        import networkx as nx

        for _, values in graph.nodes(data=True):
            values["name"] = clean(values["name"])
            values["aliases"] = clean("; ".join(values["aliases"]))
        return "\n".join(nx.generate_graphml(graph)) + "\n"

    def to_json(self) -> str:
        """Return JSON: the bank, its entities and connections."""
        content = {
            "bank": self.bank_id,
            "entities": [{"id": entity.id, **_fields(entity)} for entity in self.entities],
            "connections": [
                {"source": one.source, "target": one.target, "memories": one.memories}
                for one in self.connections
            ],
        }
        return as_json(content, indent=2) + "\n"

    def _forms(self) -> dict[str, object]:
        return {**super()._forms(), ".graphml": self.to_graphml, ".json": self.to_json}

    # Text

    def __str__(self) -> str:
        names = {entity.id: entity.name for entity in self.entities}
        beside: dict[str, list[str]] = {id: [] for id in names}
        for one in self.connections:
            for here, there in ((one.source, one.target), (one.target, one.source)):
                beside[here].append(f"{clean(names[there])} {one.memories}")
        lines = [clean(f"{self.title}: {self.note}")]
        column = max((len(clean(name)) for name in names.values()), default=0)
        for entity in self.entities[:LISTED]:
            near = beside[entity.id]
            more = f", and {len(near) - COMPANIONS} more" if len(near) > COMPANIONS else ""
            head = f"{clean(entity.name):{min(column, 24)}}  {entity.kind}, {entity.mention_count}"
            lines.append(f"  {head:{min(column, 24) + 20}}  {', '.join(near[:COMPANIONS])}{more}")
        if len(self.entities) > LISTED:
            lines.append(f"  … and {display.counted(len(self.entities) - LISTED, 'entity')} more")
        return "\n".join(line.rstrip() for line in lines)

    def _table(self) -> str:
        names = {entity.id: entity.name for entity in self.entities}
        rows = [
            {"name": entity.name, "kind": entity.kind, "memories": entity.mention_count}
            for entity in self.entities
        ]
        pairs = [
            {"one": names[one.source], "other": names[one.target], "memories": one.memories}
            for one in self.connections
        ]
        return display.table(rows, "Entities", len(rows)) + display.table(
            pairs, "Connections, strongest first", 200
        )

    # Drawing

    def html(self) -> str:
        """Return the picture as one HTML page that works without a network."""
        return page(self.title, self.svg(), self._table(), script="graph.js", data=self._content())

    def _content(self) -> object:
        """Return the values of the page's script, ends of connections as indexes of entities."""
        index = {entity.id: number for number, entity in enumerate(self.entities)}
        width, height = self._size
        return {
            "title": clean(self.title),
            "note": clean(self.note),
            "width": width,
            "height": height,
            "top": HEAD,
            "center": index.get(self.center.id) if self.center else None,
            "nodes": [
                {
                    "name": clean(entity.name),
                    "kind": entity.kind,
                    "mentions": entity.mention_count,
                    "aliases": [clean(alias) for alias in entity.aliases],
                    "colour": shape_of(entity.kind)[0],
                    "shape": shape_of(entity.kind)[1],
                    "r": round(radius, 1),
                    "x": round(x, 1),
                    "y": round(y, 1),
                    "texts": [clean(text) for text in self.examples.get(entity.id, ())],
                }
                for entity, radius, (x, y) in zip(
                    self.entities, self._radii, self._places, strict=True
                )
            ],
            "links": [
                {
                    "a": index[one.source],
                    "b": index[one.target],
                    "n": one.memories,
                    "drawn": one in self._drawn_set,
                    "texts": [
                        clean(text) for text in self.examples.get((one.source, one.target), ())
                    ],
                }
                for one in self.connections[:SENT]
            ],
        }

    @cached_property
    def _drawn_set(self) -> frozenset[Connection]:
        return frozenset(self._drawn)

    @cached_property
    def _size(self) -> tuple[float, float]:
        """Width and height of the drawing: an entity takes the room of its name."""
        scale = max(1.0, (len(self.entities) / 60) ** 0.5)
        if len(self.entities) < 12:
            scale = 0.75
        return round(1000 * scale), round(660 * scale)

    @cached_property
    def _radii(self) -> list[float]:
        most = max((entity.mention_count for entity in self.entities), default=1)
        return [
            SMALLEST + (LARGEST - SMALLEST) * (entity.mention_count / most) ** 0.5
            for entity in self.entities
        ]

    @cached_property
    def _places(self) -> list[tuple[float, float]]:
        index = {entity.id: number for number, entity in enumerate(self.entities)}
        strongest = max((one.memories for one in self.connections), default=1)
        edges = [
            (index[one.source], index[one.target], (one.memories / strongest) ** 0.5)
            for one in self._drawn
        ]
        width, height = self._size
        room = (width - 2 * MARGIN, height - HEAD - FOOT - MARGIN)
        return [
            (x + MARGIN, y + HEAD + MARGIN / 2)
            for x, y in positions(edges, self._radii, *room).tolist()
        ]

    def _drawing(self) -> Drawing:
        width, height = self._size
        drawing = Drawing(width, height, self.title, f"{self.note} {_strongest(self)}")
        drawing.text(24, 32, cut(self.title, width - 48, TITLE_SIZE), size=TITLE_SIZE,
                     font_weight=600)  # fmt: skip
        drawing.text(24, 51, self.note, size=SMALL, fill="soft")
        self._draw_connections(drawing, drawing.group())
        self._draw_entities(drawing, drawing.group())
        _legend(drawing, [entity.kind for entity in self.entities], height - 16)
        return drawing

    def _draw_connections(self, drawing: Drawing, scene: ET.Element) -> None:
        place = dict(zip((entity.id for entity in self.entities), self._places, strict=True))
        strongest = max((one.memories for one in self.connections), default=1)
        opacity = min(1.0, max(LEAST_OPACITY, 12 / (len(place) or 1) ** 0.5))
        scene.set("opacity", f"{opacity:.2f}")
        for one in reversed(self._drawn):
            (x, y), (to_x, to_y) = place[one.source], place[one.target]
            drawing.path(
                f"M{x:.1f},{y:.1f}L{to_x:.1f},{to_y:.1f}", into=scene, stroke="line",
                stroke_width=0.8 + 3.6 * (one.memories / strongest) ** 0.5,
                stroke_linecap="round",
            )  # fmt: skip

    def _draw_entities(self, drawing: Drawing, scene: ET.Element) -> None:
        marks = list(zip(self.entities, self._radii, self._places, strict=True))
        for entity, radius, (x, y) in reversed(marks):
            colour, shape = shape_of(entity.kind)
            drawing.mark(x, y, shape, radius, into=scene, fill=colour, stroke="paper",
                         stroke_width=1.5)  # fmt: skip
        edge = _Box(0, HEAD, self._size[0], self._size[1] - FOOT + 8)
        taken = _Taken()
        for number, (entity, radius, (x, y)) in enumerate(marks):
            if number in (0, NAMED_FIRST):
                some = marks[number:] if number else marks[:NAMED_FIRST]
                for _, r, (at_x, at_y) in some:
                    taken.add(_Box(at_x - r, at_y - r, at_x + r, at_y + r))
            bold = entity is self.center or radius > SMALLEST + 0.6 * (LARGEST - SMALLEST)
            size = TEXT_SIZE if bold else SMALL
            name = cut(entity.name, NAME_WIDTH, size)
            for left, baseline, box in _label_places(name, x, y, radius, size):
                if box.within(edge) and not taken.meets(box):
                    taken.add(box)
                    drawing.text(
                        left, baseline, name, into=scene, size=size,
                        font_weight=600 if bold else 400, stroke="paper", stroke_width=3,
                        paint_order="stroke", stroke_linejoin="round",
                    )  # fmt: skip
                    break


def _label_places(
    name: str, x: float, y: float, radius: float, size: float
) -> Iterator[tuple[float, float, _Box]]:
    """Yield where a name can stand beside a mark: left end, baseline and box; the best first."""
    long, gap = width(name, size) * 1.04, radius + 4
    for left, middle in (
        (x + gap, y),
        (x - long / 2, y + gap + size * 0.5),
        (x - gap - long, y),
        (x - long / 2, y - gap - size * 0.5),
        (x + gap * 0.8, y + gap * 0.8),
        (x + gap * 0.8, y - gap * 0.8),
        (x - gap * 0.8 - long, y - gap * 0.8),
        (x - gap * 0.8 - long, y + gap * 0.8),
    ):
        box = _Box(left, middle - size * 0.55, left + long, middle + size * 0.55)
        yield left, middle + size * 0.35, box


def _legend(drawing: Drawing, kinds: Sequence[str], y: float) -> None:
    """Draw the kinds there are, each with its colour and shape."""
    x = 28.0
    for kind in dict.fromkeys(kinds):
        colour, shape = shape_of(kind)
        drawing.mark(x, y - 4, shape, 5.0, fill=colour)
        drawing.text(x + 11, y, kind, size=SMALL, fill="soft")
        x += 34 + width(kind, SMALL)
    drawing.text(x + 8, y, "size: memories that mention it; width: memories that mention both",
                 size=SMALL, fill="soft")  # fmt: skip


def _strongest(graph: BankGraph) -> str:
    names = {entity.id: entity.name for entity in graph.entities}
    strongest = [
        f"{names[one.source]} and {names[one.target]} ({one.memories})"
        for one in graph.connections[:5]
    ]
    return f"Strongest: {', '.join(strongest)}." if strongest else "Nothing is connected."


def _fields(entity: Entity) -> dict[str, object]:
    return {
        "name": entity.name,
        "kind": entity.kind,
        "mentions": entity.mention_count,
        "aliases": list(entity.aliases),
    }
