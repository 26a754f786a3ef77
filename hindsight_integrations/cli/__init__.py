"""The command line, `hindsight-memory`.

Exit codes, for scripts:

| code | meaning |
|---|---|
| 0 | done |
| 1 | it failed; stderr has one line, `error: ...` |
| 2 | used wrongly: an unknown option, a value that cannot be read |
| 3 | `recall` or `search` found nothing |
| 130 | interrupted; what was stored before is kept, and whole |

With `--json`, stdout carries one JSON document and nothing else: the result, or, with code 1 or
130, `{"error": {"type": ..., "message": ...}}`.
`watch` writes one JSON document a line instead. Progress bars go to stderr, and only to
a terminal.
"""

from hindsight_integrations.cli.commands import app, main

__all__ = ["app", "main"]
