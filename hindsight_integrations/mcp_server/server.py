"""The MCP server of a memory, whatever the transport."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from inspect import Parameter, Signature
from string import Template
from typing import Annotated, Any, TypeAlias, cast
from urllib.parse import quote

from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ResourceError, ResourceNotFoundError, ToolError
from mcp.server.mcpserver.resources import ResourceSecurity
from mcp.server.mcpserver.tools import Tool as ServerTool
from mcp.shared.exceptions import MCPError
from mcp_types import INTERNAL_ERROR, INVALID_PARAMS, ToolAnnotations
from pydantic import ConfigDict, Field, create_model
from pydantic.fields import FieldInfo

from hindsight_integrations import validation
from hindsight_integrations._version import __version__
from hindsight_integrations.client import Hindsight
from hindsight_integrations.errors import (
    BankNotFoundError,
    HindsightError,
    InvalidInputError,
    MemoryNotFoundError,
    NotFoundError,
)
from hindsight_integrations.integrations import common
from hindsight_integrations.mcp_server import resources, texts
from hindsight_integrations.mcp_server.arguments import TOKENS
from hindsight_integrations.mcp_server.tools import (
    TOOL_SETS,
    TOOLS,
    Effect,
    Tool,
    Tools,
    get_entity,
)
from hindsight_integrations.results import NOTHING_FOUND
from hindsight_integrations.tool_arguments import ToolArguments

Request: TypeAlias = Context[Any, Any]
Use: TypeAlias = Callable[[Callable[[Hindsight], str]], str]
"""Calls a function with the open memory, and returns its result."""

BankOf: TypeAlias = Callable[[Request | None, str | None], str]
"""Returns the bank of a request, given the bank that the call names, if it names one.

Raises `InvalidInputError` for a bank that the server does not give access to."""

NAME, TITLE = "hindsight-memory", "Long-term memory"
"""Name and title of the server, for hosts and their users."""

DEFAULT_BANK = "default"
"""Bank of a call that names none where none is pinned, as on the command line."""

Task: TypeAlias = Annotated[str, Field(description=texts.PROMPT_TASK)]
BankName: TypeAlias = Annotated[str, Field(description=texts.BANK)]

BANK = FieldInfo.from_annotated_attribute(BankName, DEFAULT_BANK)
"""Argument of all tools where no bank is pinned."""

_ANNOTATIONS: dict[Effect, dict[str, bool]] = {
    "read": {"read_only_hint": True},
    "add": {"read_only_hint": False, "destructive_hint": False, "idempotent_hint": False},
    "replace": {"read_only_hint": False, "destructive_hint": False, "idempotent_hint": True},
    "delete": {"read_only_hint": False, "destructive_hint": True, "idempotent_hint": True},
}


def pinned_to(bank: str) -> BankOf:
    """Return a `BankOf` that gives access to one bank only."""

    def bank_of(request: Request | None, named: str | None) -> str:
        if named not in (None, bank):
            raise InvalidInputError(f"this server only serves the bank {bank!r}")
        return bank

    return bank_of


def any_bank(request: Request | None, named: str | None) -> str:
    """Return the bank that the call names, or the default one."""
    return DEFAULT_BANK if named is None else named


def create_server(
    memory: Hindsight, *, bank: str | None = None, tools: Tools = "core"
) -> MCPServer[Any]:
    """Return an MCP server of an open memory, which the caller closes afterwards.

    Args:
        memory: the open memory.
        bank: the only bank it gives access to; if None, each call names its bank.
        tools: "core" for retain, recall, reflect, forget, correct, list_memories and why; "all"
            for those that look after a memory, too.

    Example:
        ```python
        import asyncio
        from mcp import Client
        from hindsight_integrations import Hindsight
        from hindsight_integrations.mcp_server import create_server

        async def main():
            with Hindsight.in_memory() as memory:
                memory.retain("alice", "Alice moved to Bergen in May 2024.")
                async with Client(create_server(memory, bank="alice")) as client:
                    answer = await client.call_tool("recall", {"query": "Where is Alice?"})
                    print("Bergen" in answer.content[0].text)

        asyncio.run(main())
        ```

        ```text
        True
        ```
    """
    common.checked_memory(memory)
    return server_of(lambda action: action(memory), bank=bank, tools=tools)


def server_of(
    use: Use, *, bank: str | None = None, tools: Tools = "core", bank_of: BankOf | None = None
) -> MCPServer[Any]:
    """Return an MCP server.

    Args:
        use: calls a function with the memory.
        bank: the only bank; if None, and without `bank_of`, the tools take it as an argument.
        tools: which tools.
        bank_of: finds the bank of each request, in place of `bank`.

    Raises:
        InvalidInputError: there is no such set of tools, or `bank` is not a valid id.
    """
    if tools not in TOOL_SETS:
        raise InvalidInputError(f"tools is {tools!r}; give 'core' or 'all'")
    is_open = bank is None and bank_of is None
    chosen = bank_of or (any_bank if bank is None else pinned_to(validation.new_bank_id(bank)))
    offered = [
        _tool(tool, use, chosen, is_open=is_open)
        for tool in TOOLS
        if (tool.is_core or tools == "all") and (is_open or tool.name != "list_banks")
    ]
    with _unchanged_root_logger():
        server: MCPServer[Any] = MCPServer(
            NAME,
            title=TITLE,
            instructions=texts.INSTRUCTIONS,
            version=__version__,
            tools=offered,
            log_level="WARNING",
            resource_security=ResourceSecurity(exempt_params={"bank", "name"}),
            subscriptions=False,  # nothing is announced, so no stream has to stay open
        )
    _add_resources(server, use, chosen, bank)
    _add_prompt(server, use, chosen, is_open=is_open)
    return server


@contextmanager
def _unchanged_root_logger() -> Iterator[None]:
    """Restore the root logger, which the library configures for the whole process."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    try:
        yield
    finally:
        root.handlers[:] = handlers
        root.setLevel(level)


def _tool(tool: Tool, use: Use, bank_of: BankOf, *, is_open: bool) -> ServerTool:
    def run(ctx: Request, **given: Any) -> str:
        named = given.pop("bank", None)
        state = _audited_state(ctx)
        state["write"] = tool.effect != "read"
        try:
            bank = bank_of(ctx, named)
            state["banks"] = [bank]
            return use(lambda memory: tool.answer(memory, bank, **given))
        except BankNotFoundError as error:
            if tool.effect == "read":
                return NOTHING_FOUND
            raise ToolError(
                "this bank does not exist yet, so there is nothing to change"
            ) from error
        except MemoryNotFoundError as error:
            raise ToolError(f"{error}; use recall or list_memories to find ids") from error
        except HindsightError as error:
            raise ToolError(str(error)) from error

    fields = tool.arguments.model_fields | ({"bank": BANK} if is_open else {})
    run.__annotations__ = {"ctx": Context[Any, Any], "return": str}
    run.__signature__ = Signature(  # type: ignore[attr-defined]
        [
            Parameter("ctx", Parameter.KEYWORD_ONLY, annotation=Context[Any, Any]),
            *(_parameter(name, field) for name, field in fields.items()),
        ],
        return_annotation=str,
    )
    server_tool = ServerTool.from_function(
        run,
        name=tool.name,
        description=texts.DESCRIPTIONS[tool.name],
        annotations=ToolAnnotations(
            title=tool.name.replace("_", " ").capitalize(),
            open_world_hint=False,
            **_ANNOTATIONS[tool.effect],
        ),
        meta={"hindsight-memory/texts": texts.VERSION},
        structured_output=False,  # a host could show it to the model without the fence
    )
    model = server_tool.fn_metadata.arg_model
    strict: Any = create_model(tool.name, __base__=(_GivenArguments, model))
    server_tool.fn_metadata.arg_model = strict
    server_tool.parameters = strict.model_json_schema(by_alias=True)
    return server_tool


class _GivenArguments(ToolArguments):
    """Arguments without unknown names: `forget` with a misspelt filter would delete more."""

    model_config = ConfigDict(extra="forbid")


def _audited_state(ctx: Request) -> dict[str, Any]:
    """Return the state of the request over HTTP, which a service audits; {} on stdio."""
    http: Any = ctx.request_context.request
    state: dict[str, Any] = {} if http is None else http.scope["state"]
    return state


def _parameter(name: str, field: FieldInfo) -> Parameter:
    default = (
        Parameter.empty if field.is_required() else field.get_default(call_default_factory=True)
    )
    described = Field(description=field.description)
    annotation = cast(Any, Annotated)[(field.annotation, described, *field.metadata)]
    return Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def _add_resources(server: MCPServer[Any], use: Use, bank_of: BankOf, bank: str | None) -> None:
    read = partial(_read, use, bank_of)

    @_resource(server, "memory://{bank}/profile", "profile")
    def profile(bank: str, ctx: Request) -> str:
        return read(ctx, bank, resources.profile)

    @_resource(server, "memory://{bank}/recent", "recent")
    def recent(bank: str, ctx: Request) -> str:
        return read(ctx, bank, resources.recent)

    @_resource(server, "memory://{bank}/entity/{name}", "entity")
    def entity(bank: str, name: str, ctx: Request) -> str:
        return read(ctx, bank, partial(get_entity, name=name))

    if bank is None:
        return
    # Many hosts list only resources without parameters.
    quoted_bank = quote(bank, safe="")
    for name, show in (("profile", resources.profile), ("recent", resources.recent)):
        _resource(server, f"memory://{quoted_bank}/{name}", name)(partial(read, None, bank, show))


def _read(
    use: Use,
    bank_of: BankOf,
    ctx: Request | None,
    named: str,
    show: Callable[[Hindsight, str], str],
) -> str:
    try:
        bank = bank_of(ctx, named)
        return use(lambda memory: show(memory, bank))
    except BankNotFoundError:
        return NOTHING_FOUND
    except (NotFoundError, InvalidInputError) as error:
        raise ResourceNotFoundError(str(error)) from error
    except HindsightError as error:
        raise ResourceError(str(error)) from error


def _resource(
    server: MCPServer[Any], uri: str, name: str
) -> Callable[[Callable[..., str]], Callable[..., str]]:
    return server.resource(
        uri, name=name, description=texts.RESOURCES[name], mime_type="text/plain"
    )


def _add_prompt(server: MCPServer[Any], use: Use, bank_of: BankOf, *, is_open: bool) -> None:
    def render(ctx: Request, task: str, named: str | None) -> str:
        try:
            bank = bank_of(ctx, named)
            memories = use(
                lambda memory: common.section(
                    common.recall(memory, bank, common.as_question(task), max_tokens=TOKENS).text
                )
            )
        except HindsightError as error:
            code = INVALID_PARAMS if isinstance(error, InvalidInputError) else INTERNAL_ERROR
            raise MCPError(code, str(error)) from error
        return Template(texts.WITH_MEMORY).substitute(
            memories=memories or common.nothing_found(task), task=task
        )

    def of_one(task: Task, ctx: Request) -> str:
        return render(ctx, task, None)

    def of_any(task: Task, ctx: Request, bank: BankName = DEFAULT_BANK) -> str:
        return render(ctx, task, bank)

    described = server.prompt(name=texts.PROMPT_NAME, description=texts.PROMPT_DESCRIPTION)
    described(of_any if is_open else of_one)
