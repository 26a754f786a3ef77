"""`Picture`, the base of all pictures: how they show themselves and are saved; their HTML page."""

from __future__ import annotations

import json
import os
from abc import ABC, abstractmethod
from base64 import b64encode
from functools import cache
from html import escape
from importlib.resources import files
from pathlib import Path

from hindsight_integrations import validation
from hindsight_integrations.errors import (
    InvalidInputError,
    MissingExtraError,
    StoreUnavailableError,
)
from hindsight_integrations.pictures.drawing import COLOURS, Drawing, clean
from hindsight_integrations.private import create_private

PNG_SCALE = 2
"""Pixels of a PNG for each unit of the drawing: sharp in print and on dense screens."""

FRAME_HEIGHT = 640
"""Height of an interactive picture in a notebook, in pixels."""

_POLICY = (
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:"
)
"""Content security policy: nothing is fetched or sent, whatever stands in a memory."""


class Picture(ABC):
    """A picture: interactive in a notebook, text in a terminal, and a file by `save`.

    Texts of memories stay text in all forms. Nothing is loaded from elsewhere.
    """

    __slots__ = ()

    @property
    @abstractmethod
    def title(self) -> str:
        """Title of the picture."""

    @abstractmethod
    def _drawing(self) -> Drawing:
        """Return the still picture."""

    @abstractmethod
    def __str__(self) -> str:
        """Return the picture as text."""

    def svg(self) -> str:
        """Return the still picture as SVG, which adapts to dark backgrounds by itself."""
        return self._drawing().svg()

    def png(self) -> bytes:
        """Return the still picture as PNG, at twice the size of the SVG.

        Raises:
            MissingExtraError: resvg-py is not installed.
        """
        try:
            import resvg_py
        except ImportError as error:
            raise MissingExtraError(
                'PNG needs the pictures extra: pip install "hindsight-integrations[pictures]"; '
                "SVG and HTML do not"
            ) from error
        return bytes(resvg_py.svg_to_bytes(svg_string=self.svg(), zoom=PNG_SCALE))

    def html(self) -> str:
        """Return the picture as one HTML page, interactive if this picture is, for any browser."""
        return page(self.title, self.svg(), self._table())

    def _table(self) -> str:
        """Return what is drawn as an HTML table, for readers who do not see it."""
        return f'<pre tabindex="0" role="group" aria-label="As text">{escape(str(self))}</pre>'

    def _forms(self) -> dict[str, object]:
        """Return the functions that make the content of a file, by its suffix."""
        return {".svg": self.svg, ".png": self.png, ".html": self.html}

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the picture into a file of the form that its suffix names; return the path.

        A new file is its user's alone, since it shows memories.

        Raises:
            InvalidInputError: there is no such form.
            MissingExtraError: the form needs the `pictures` extra.
            StoreUnavailableError: the file cannot be written.
        """
        file = Path(validation.file_path("path", path))
        forms = self._forms()
        make = forms.get(file.suffix.lower())
        if not callable(make):
            raise InvalidInputError(
                f"{file.name!r} has no suffix of a supported format; use one of {', '.join(forms)}"
            )
        content: str | bytes = make()
        try:
            create_private(file)
            file.write_bytes(content.encode() if isinstance(content, str) else content)
        except OSError as error:
            raise StoreUnavailableError(
                f"{str(file)!r} cannot be written: {error.strerror}; check its folder, the "
                "permissions and the free disk space"
            ) from error
        return file

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        """Return the still picture, isolated from the notebook; see `InteractivePicture`."""
        return still(self)


class InteractivePicture(Picture):
    """A picture whose page can be searched, moved and zoomed."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        # The page covers the still picture, which is left where frames are taken out, as on
        # GitHub. The sandbox keeps the page's script from the notebook.
        return (
            f'<div style="position: relative; height: {FRAME_HEIGHT}px; overflow: hidden">'
            f"{still(self)}"
            f'<iframe title="{escape(clean(self.title))}" sandbox="allow-scripts allow-downloads" '
            'style="position: absolute; inset: 0; width: 100%; height: 100%; border: 0" '
            f'srcdoc="{escape(self.html())}"></iframe></div>'
        )


def still(picture: Picture) -> str:
    """Return an HTML image of a picture: no style or script of it reaches the page around it."""
    return (
        f'<img alt="{escape(clean(picture.title))}" style="max-width: 100%; height: auto" '
        f'src="{as_image(picture)}">'
    )


def as_image(picture: Picture) -> str:
    """Return a still picture as the address of an image: no script or link of it is alive there."""
    return f"data:image/svg+xml;base64,{b64encode(picture.svg().encode()).decode()}"


@cache
def asset(name: str) -> str:
    """Return the text of a file in `assets`, where LICENSE-d3.txt says what comes from where."""
    return files(__package__).joinpath("assets", name).read_text(encoding="utf-8")


def page(title: str, svg: str, table: str, *, script: str = "", data: object = None) -> str:
    """Return a page with a picture and its text alternative.

    Args:
        title: of the page.
        svg: the still picture, which is what is seen where scripts do not run.
        table: HTML that says the same.
        script: file in `assets` that makes the picture interactive.
        data: values for that script.
    """
    scripts = ""
    if script:
        sources = (asset("d3.min.js"), asset("common.js"), asset(script))
        scripts = (
            f'<script type="application/json" id="data">{_as_script(data)}</script>'
            + "".join(f"<script>{source}</script>" for source in sources)
        )
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
        f"<title>{escape(clean(title))}</title><style>{_variables()}{asset('page.css')}</style>"
        f'</head><body><main><div id="stage" tabindex="0" role="group" aria-labelledby="head">'
        f'<h1 id="head" class="hidden">{escape(clean(title))}</h1>{svg}</div></main>'
        '<section aria-label="As text"><details id="table"><summary>As text</summary>'
        f"{table}</details></section>{scripts}</body></html>\n"
    )


def _as_script(data: object) -> str:
    r"""Return JSON safe inside a script element: <, > and & are escaped as \uXXXX."""
    written = json.dumps(data, ensure_ascii=True, separators=(",", ":"))
    return written.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _variables() -> str:
    light = "".join(f"--{name}:{shades[0]};" for name, shades in COLOURS.items())
    dark = "".join(f"--{name}:{shades[1]};" for name, shades in COLOURS.items())
    return f":root{{{light}}}@media (prefers-color-scheme:dark){{:root{{{dark}}}}}"
