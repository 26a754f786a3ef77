"""Memory over the Model Context Protocol, for editors and agents.

`hindsight-memory mcp` is a server on stdio, and `hindsight-memory serve` has one at `/mcp/`. Both
need `pip install "hindsight-integrations[mcp]"`.
"""

from hindsight_integrations.errors import MissingExtraError

try:
    import mcp.server  # noqa: F401
except ImportError as error:
    raise MissingExtraError(
        "the MCP server needs the package mcp, version 2; run: "
        "pip install 'hindsight-integrations[mcp]'"
    ) from error

from hindsight_integrations.mcp_server.http import McpApp
from hindsight_integrations.mcp_server.server import create_server

__all__ = ["McpApp", "create_server"]
