"""Errors as a service reports them: one HTTP status for each class, and content that reads back."""

from __future__ import annotations

import pytest

from hindsight_integrations import errors
from hindsight_integrations.errors import HindsightError, error_content, error_of, http_status

STATUS = {
    "InvalidInputError": 400,
    "ContentTooLargeError": 413,
    "AccessDeniedError": 403,
    "NotFoundError": 404,
    "BankNotFoundError": 404,
    "MemoryNotFoundError": 404,
    "ConflictError": 409,
    "EmbedderMismatchError": 409,
    "GuardError": 422,
    "MissingExtraError": 501,
    "ModelError": 503,
    "ExtractionError": 503,
    "StoreError": 503,
    "StoreLockedError": 503,
    "StoreUnavailableError": 503,
    "ClosedError": 503,
}


@pytest.mark.parametrize(("name", "status"), STATUS.items())
def test_each_error_has_one_http_status_and_reads_back(name: str, status: int) -> None:
    error: HindsightError = getattr(errors, name)("what was wrong")
    assert http_status(error) == status
    again = error_of(error_content(error))
    assert (type(again), str(again)) == (type(error), "what was wrong")


def test_an_error_of_another_package_is_one_of_the_server() -> None:
    assert http_status(ZeroDivisionError("division by zero")) == 500
    assert "ZeroDivisionError" in str(error_of(error_content(ZeroDivisionError("by zero"))))
