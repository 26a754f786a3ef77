"""Export of a bank into one file, and import of such a file as a bank."""

from hindsight_integrations.export_import.bank_file import PIPE
from hindsight_integrations.export_import.exporting import ExportResult, export_bank
from hindsight_integrations.export_import.importing import (
    ImportResult,
    import_bank,
    remove_unfinished,
)

__all__ = [
    "PIPE",
    "ExportResult",
    "ImportResult",
    "export_bank",
    "import_bank",
    "remove_unfinished",
]
