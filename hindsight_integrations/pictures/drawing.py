"""Primitives of the pictures: SVG elements, colours, and text that is measured and cut.

Colours are presentation attributes for light backgrounds, so that every program that reads SVG
shows them; a style sheet replaces them where the reader prefers dark.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from hashlib import sha256
from unicodedata import combining, east_asian_width
from xml.etree import ElementTree as ET

from hindsight_integrations.rendering import as_line

FONT = "Helvetica Neue, Helvetica, Arial, Liberation Sans, DejaVu Sans, sans-serif"
TEXT_SIZE, SMALL, TITLE_SIZE = 12.0, 10.5, 16.0
"""Font sizes, in units of the drawing (pixels at its own size)."""

COLOURS = {
    "paper": ("#ffffff", "#16191d"),
    "panel": ("#f4f5f7", "#20252b"),
    "ink": ("#1c2430", "#e9edf2"),
    "soft": ("#566070", "#a3adba"),
    "line": ("#c3c9d2", "#434c57"),
    "blue": ("#0072b2", "#56b4e9"),
    "orange": ("#d55e00", "#f08a4b"),
    "green": ("#00795a", "#2fc9a0"),
    "pink": ("#b0558a", "#e39ac6"),
    "gold": ("#a87400", "#f0c04a"),
    "sky": ("#3c8fc4", "#9ad3f5"),
    "grey": ("#6b7480", "#9aa3ae"),
}
"""Light and dark of each colour by name.

Hues of Okabe and Ito, "Color Universal Design" (2008), told apart with any colour vision; darkened
or lightened until each has a contrast of 3 to its background (WCAG 2.2, 1.4.11), ink and soft 4.5.
"""

KINDS = {
    "person": ("blue", "circle"),
    "organization": ("orange", "square"),
    "place": ("green", "diamond"),
    "event": ("gold", "triangle"),
    "product": ("pink", "hexagon"),
    "work": ("pink", "hexagon"),
    "group": ("sky", "circle"),
}
"""Colour and shape of each kind of entity; the shape tells what the colour does."""

OTHER_KIND = ("grey", "hexagon")

_SHAPES: dict[str, Sequence[tuple[float, float]]] = {
    "square": ((-0.9, -0.9), (0.9, -0.9), (0.9, 0.9), (-0.9, 0.9)),
    "diamond": ((0, -1.25), (1.25, 0), (0, 1.25), (-1.25, 0)),
    "triangle": ((0, -1.2), (1.15, 0.85), (-1.15, 0.85)),
    "hexagon": ((-0.55, -0.95), (0.55, -0.95), (1.1, 0), (0.55, 0.95), (-0.55, 0.95), (-1.1, 0)),
}

_UNREADABLE = re.compile("[\ud800-\udfff\ufffe\uffff]")
"""Characters that XML 1.0 does not allow, beside the control characters."""


def shape_of(kind: str) -> tuple[str, str]:
    """Return the colour and the shape of a kind of entity."""
    return KINDS.get(kind, OTHER_KIND)


def shape_path(shape: str, radius: float) -> str:
    """Return the outline of a mark around the origin, as data of an SVG path."""
    if shape == "circle":
        r = round(radius, 1)  # rounded once, or it becomes an ellipse
        return f"M{-r},0a{r},{r} 0 1,0 {2 * r:.1f},0a{r},{r} 0 1,0 {-2 * r:.1f},0"
    points = (f"{x * radius:.1f},{y * radius:.1f}" for x, y in _SHAPES[shape])
    return f"M{'L'.join(points)}Z"


def clean(text: str) -> str:
    """Return a text as one line that XML can hold, with control characters made visible."""
    return _UNREADABLE.sub("\ufffd", as_line(text))


@lru_cache(4096)
def width(text: str, size: float = TEXT_SIZE) -> float:
    """Return the width of a text in a sans-serif font, estimated from classes of characters.

    Fractions of the font size: the means of each class in Helvetica's metrics, and 1 for wide
    characters of East Asia.
    """
    return size * sum(map(_advance, text))


def _advance(character: str) -> float:
    if combining(character):
        return 0.0
    if east_asian_width(character) in "WF":
        return 1.0
    if character in "iljtfrI.,:;'|!()[] /":
        return 0.3
    if character in "mwMW@%—…":
        return 0.87
    return 0.68 if character.isupper() else 0.56


def cut(text: str, most: float, size: float = TEXT_SIZE) -> str:
    """Return as much of a text as `most` units of width hold, with "…" if it is not all."""
    line = clean(text)
    if width(line, size) <= most:
        return line
    room, end = most - width("…", size), 0
    for character in line:
        room -= size * _advance(character)
        if room < 0:
            break
        end += 1
    return f"{line[:end].rstrip()}…"


def wrapped(text: str, most: float, lines: int, size: float = TEXT_SIZE) -> list[str]:
    """Break a text into at most `lines` lines of `most` units of width; the last is cut."""
    words = clean(text).split(" ")
    done: list[str] = []
    while words and len(done) < lines - 1:
        count = 1
        while count < len(words) and width(" ".join(words[: count + 1]), size) <= most:
            count += 1
        if width(words[0], size) > most:  # a script without spaces, or an address
            break
        done.append(" ".join(words[:count]))
        words = words[count:]
    return [*done, cut(" ".join(words), most, size)] if words else done


class Drawing:
    """An SVG drawing with a title and a description for readers who do not see it.

    Args:
        width: in pixels.
        height: in pixels.
        title: names the picture.
        description: says what it shows, in sentences.
    """

    def __init__(self, width: float, height: float, title: str, description: str) -> None:
        self.width, self.height = width, height
        self.root = ET.Element(
            "svg",
            {
                "xmlns": "http://www.w3.org/2000/svg",
                "viewBox": f"0 0 {width:.0f} {height:.0f}",
                "width": f"{width:.0f}",
                "height": f"{height:.0f}",
                "font-family": FONT,
                "role": "img",
                "aria-label": clean(title),
            },
        )
        ET.SubElement(self.root, "title").text = clean(title)
        ET.SubElement(self.root, "desc").text = clean(description)
        self._style = ET.SubElement(self.root, "style")
        self.rect(0, 0, width, height, fill="paper")

    def group(self, into: ET.Element | None = None, **attributes: object) -> ET.Element:
        """Add a group."""
        return self._add("g", into, attributes)

    def rect(
        self, x: float, y: float, width: float, height: float, **attributes: object
    ) -> ET.Element:
        """Add a rectangle; `into`, `fill` and `stroke` as in all that follow."""
        return self._add(
            "rect", attributes.pop("into", None), {"x": x, "y": y, "width": max(width, 0.0),
            "height": max(height, 0.0), **attributes},
        )  # fmt: skip

    def path(self, data: str, **attributes: object) -> ET.Element:
        """Add a path that is not filled, unless `fill` is given."""
        given = {"fill": "none", **attributes}
        return self._add("path", given.pop("into", None), {"d": data, **given})

    def mark(
        self, x: float, y: float, shape: str, radius: float, **attributes: object
    ) -> ET.Element:
        """Add a mark of a shape."""
        at = f"translate({x:.1f},{y:.1f})"
        return self.path(shape_path(shape, radius), transform=at, **attributes)

    def text(self, x: float, y: float, text: str, **attributes: object) -> ET.Element:
        """Add a line of text; `size`, and `anchor` "start", "middle" or "end"."""
        given: dict[str, object] = {"fill": "ink", "size": TEXT_SIZE, **attributes}
        element = self._add(
            "text",
            given.pop("into", None),
            {"x": x, "y": y, "font-size": given.pop("size"), **given},
        )
        element.text = clean(text)
        return element

    def _add(self, tag: str, into: object, attributes: Mapping[str, object]) -> ET.Element:
        parent = into if isinstance(into, ET.Element) else self.root
        element = ET.SubElement(parent, tag)
        classes = [str(attributes["cls"])] if "cls" in attributes else []
        for name, value in attributes.items():
            if name in ("fill", "stroke") and value in COLOURS:
                classes.append(f"{name[0]}-{value}")
                element.set(name, COLOURS[str(value)][0])
            elif name == "anchor":
                element.set("text-anchor", str(value))
            elif name != "cls":
                text = f"{value:.1f}".removesuffix(".0") if isinstance(value, float) else str(value)
                element.set(name.replace("_", "-"), text)
        if classes:
            element.set("class", " ".join(classes))
        return element

    def svg(self) -> str:
        """Return the drawing as the text of an SVG file."""
        self._style.text = ""
        scope = f"p{sha256(ET.tostring(self.root)).hexdigest()[:8]}"
        self.root.set("id", scope)
        self._style.text = dark_style(f"#{scope}")
        return ET.tostring(self.root, encoding="unicode")


def dark_style(scope: str) -> str:
    """Return the style sheet that colours what is in `scope` where the reader prefers dark.

    The rules name the picture they are for: notebooks show several in one document.
    """
    rules = (
        f"{scope} .{letter}-{name}{{{property}:{dark}}}"
        for name, (_, dark) in COLOURS.items()
        for letter, property in (("f", "fill"), ("s", "stroke"))
    )
    return f"@media (prefers-color-scheme:dark){{{''.join(rules)}}}"
