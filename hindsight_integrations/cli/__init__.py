"""The command line, `hindsight-memory`.

Exit codes, for scripts:

| code | meaning |
|---|---|
| 0 | done |
| 1 | failed; stderr has one line, `error: ...` |
| 2 | wrong usage: an unknown option, or a value that cannot be read |
| 3 | nothing was found or known (`recall`, `search`, `reflect`, `context` and others) |
| 130 | interrupted; everything stored so far is intact |

With `--json`, stdout contains only one JSON document: the result as its `to_dict()` in Python, or,
with code 1 or 130, `{"error": {"type": ..., "message": ...}}`.
`watch`, `serve` and `view` write one JSON document per line instead, and `shell` one for each
command. Progress bars are written to stderr, and only
if it is a terminal.
"""

from hindsight_integrations.cli.commands import app, main

__all__ = ["app", "main"]
