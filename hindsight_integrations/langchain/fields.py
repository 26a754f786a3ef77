"""Fields that several pydantic classes have, refused when given if they cannot be used."""

from __future__ import annotations

from typing import Annotated, Any, TypeAlias

from pydantic import AfterValidator

from hindsight_integrations.adapting.options import check_options, options_of
from hindsight_integrations.engine import Hindsight
from hindsight_integrations.langchain.bank import BankId, checked_bank


def _known(options: dict[str, Any]) -> dict[str, Any]:
    check_options(options, options_of(Hindsight.recall))
    return options


BankField: TypeAlias = Annotated[BankId, AfterValidator(checked_bank)]
RecallOptions: TypeAlias = Annotated[dict[str, Any], AfterValidator(_known)]
"""Keyword arguments of `Hindsight.recall`, by name."""
