"""Which bank an adapter works on: a fixed one, or one that each run of a graph decides."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from langgraph.runtime import Runtime, get_runtime

from hindsight_integrations import checks
from hindsight_integrations.errors import InvalidInputError

BankId: TypeAlias = str | Callable[[Any], str]
"""A bank's id, or a function of the run's runtime, such as `lambda run: run.context.user_id`."""


def checked_bank(bank_id: BankId) -> BankId:
    """The argument, if it can be used.

    Raises:
        InvalidInputError: it is neither a bank's id nor a function.
    """
    return bank_id if callable(bank_id) else checks.bank_id(bank_id)


def bank_of(bank_id: BankId, runtime: object | None = None) -> str:
    """The bank of this run.

    Args:
        bank_id: what the adapter was given.
        runtime: what a function is called with; that of the graph now running if None.

    Raises:
        InvalidInputError: a function was called outside a graph, or named no usable bank.
    """
    if not callable(bank_id):
        return bank_id
    return checks.bank_id(bank_id(_running() if runtime is None else runtime))


def thread_of(runtime: Runtime[Any]) -> str | None:
    """The thread that a run belongs to, as the id of a session; None outside any thread."""
    thread = runtime.execution_info and runtime.execution_info.thread_id
    return None if thread is None else str(thread)  # a number will do for LangGraph


def _running() -> object:
    try:
        runtime: object = get_runtime()
    except RuntimeError:  # not within a runnable at all
        runtime = None
    if runtime is None:
        raise InvalidInputError(
            "bank_id is a function of the runtime, and no graph is running here; call this from "
            "a LangGraph graph or an agent, or give the bank's id as text"
        )
    return runtime
