"""Whole banks as archives: exported, imported and cloned. Archives are this package's own."""

from __future__ import annotations

import shutil
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

from fastapi import File, HTTPException, Query, Request, UploadFile
from fastapi.responses import FileResponse

from hindsight_integrations import validation
from hindsight_integrations.client import Hindsight
from hindsight_integrations.errors import BankExistsError
from hindsight_integrations.service.http_api import answers, listing
from hindsight_integrations.service.http_api.operations import Operations
from hindsight_integrations.service.http_api.routing import (
    BANK,
    Jobs,
    Memory,
    check_access,
    refuse,
    router,
)

routes = router("Bank Transfer")

DOWNLOADS = "/v1/default/files/download/"


def _check_whole(include_data: bool, include_bank_config: bool, include_history: bool) -> None:
    if not include_data or not include_bank_config:
        raise refuse("an archive always holds a whole bank here; leave out the include options")
    if include_history:
        raise refuse("archives contain no audit or model logs here; leave out include_history")


def _check_new(memory: Hindsight, bank_id: str) -> None:
    if listing.has_bank(memory, validation.bank_id(bank_id)):
        raise BankExistsError(f"bank {bank_id!r} exists already; give another target_bank_id")


def _archive(jobs: Operations) -> Path:
    return jobs.files / f"{uuid.uuid4().hex}.jsonl.gz"


@routes.post(f"{BANK}/transfer/export", status_code=202, operation_id="export_bank_transfer")
def export_bank_transfer(
    memory: Memory,
    jobs: Jobs,
    bank_id: str,
    include_data: bool = True,
    include_bank_config: bool = True,
    include_history: bool = False,
    document_id: Annotated[list[str] | None, Query()] = None,
) -> answers.Submitted:
    """Export a bank into an archive, in an operation whose result names it."""
    _check_whole(include_data, include_bank_config, include_history)
    if document_id:
        raise refuse("an archive always holds a whole bank here; leave out document_id")
    memory.banks.get(bank_id)

    def exported() -> dict[str, object]:
        path = _archive(jobs)
        memory.banks.export(bank_id, path)
        return {"storage_key": path.name, "download_url": f"{DOWNLOADS}{path.name}"}

    return _begun(jobs, bank_id, "bank_export", exported)


@routes.get(f"{DOWNLOADS}{{key}}", operation_id="download_file", response_class=FileResponse)
def download_file(jobs: Jobs, key: str) -> FileResponse:
    """Return an exported archive, by the key that only its operation tells."""
    path = jobs.files / Path(key).name
    if path.name != key or not path.is_file():
        raise HTTPException(404, "there is no archive with this key; export the bank again")
    return FileResponse(path, media_type="application/gzip", filename=key)


@routes.post(f"{BANK}/transfer/import", status_code=202, operation_id="import_bank_transfer")
def import_bank_transfer(
    memory: Memory,
    jobs: Jobs,
    request: Request,
    bank_id: str,
    file: Annotated[UploadFile, File()],
    mode: str | None = None,
    target_bank_id: str | None = None,
    document_conflict: str | None = None,
    include_data: bool = True,
    include_bank_config: bool = True,
    include_history: bool = False,
) -> answers.Submitted:
    """Create a bank from an archive of this package, in an operation."""
    _check_whole(include_data, include_bank_config, include_history)
    if mode not in (None, "create", "restore") or document_conflict:
        raise refuse("an archive always becomes a new bank here; it cannot be merged into another")
    memory.banks.get(bank_id)
    if target_bank_id is not None:
        check_access(request, target_bank_id)
        _check_new(memory, target_bank_id)
    elif getattr(getattr(request.state, "access", None), "whole", True) is False:
        raise HTTPException(403, "give target_bank_id: this token is only valid for one bank")
    path = _archive(jobs)
    with path.open("wb") as target:
        shutil.copyfileobj(file.file, target)

    def imported() -> dict[str, object]:
        try:
            done = memory.banks.import_(path, target_bank_id)
        finally:
            path.unlink(missing_ok=True)
        return {"bank_id": done.bank_id}

    return _begun(jobs, bank_id, "bank_import", imported)


@routes.post(f"{BANK}/clone", status_code=202, operation_id="clone_bank")
def clone_bank(
    memory: Memory,
    jobs: Jobs,
    request: Request,
    bank_id: str,
    target_bank_id: str,
    include_data: bool = True,
    include_bank_config: bool = True,
    include_history: bool = False,
) -> answers.Submitted:
    """Copy a bank as it is now into a new one, in an operation."""
    _check_whole(include_data, include_bank_config, include_history)
    check_access(request, target_bank_id)
    memory.banks.get(bank_id)
    _check_new(memory, target_bank_id)

    def cloned() -> dict[str, object]:
        path = _archive(jobs)
        try:
            memory.banks.export(bank_id, path)
            done = memory.banks.import_(path, target_bank_id)
        finally:
            path.unlink(missing_ok=True)
        return {"bank_id": done.bank_id}

    return _begun(jobs, bank_id, "bank_clone", cloned)


def _begun(
    jobs: Operations, bank_id: str, kind: str, work: Callable[[], dict[str, object]]
) -> answers.Submitted:
    begun = jobs.start(bank_id, kind, work)
    return answers.Submitted(operation_id=begun.id, status=begun.status)
