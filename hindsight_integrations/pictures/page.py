"""The HTML page of a picture: one file with everything in it."""

from __future__ import annotations

import json
from functools import cache
from html import escape
from importlib.resources import files

from hindsight_integrations.pictures.drawing import COLOURS, clean

_POLICY = (
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:"
)
"""Content security policy: nothing is fetched or sent, whatever stands in a memory."""


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
    r"""Return JSON that can stand in a script element: what could end it is written as \uXXXX."""
    written = json.dumps(data, ensure_ascii=True, separators=(",", ":"))
    return written.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _variables() -> str:
    light = "".join(f"--{name}:{shades[0]};" for name, shades in COLOURS.items())
    dark = "".join(f"--{name}:{shades[1]};" for name, shades in COLOURS.items())
    return f":root{{{light}}}@media (prefers-color-scheme:dark){{:root{{{dark}}}}}"
