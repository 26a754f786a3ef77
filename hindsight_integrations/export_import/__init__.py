"""Export of a bank into one file and its import; backup of a whole memory."""

from hindsight_integrations.export_import.atomic_file import PIPE
from hindsight_integrations.export_import.backup import (
    BackupResult,
    back_up,
    back_up_folder,
    restore_folder,
)
from hindsight_integrations.export_import.exporting import ExportResult, export_bank
from hindsight_integrations.export_import.importing import (
    ImportResult,
    import_bank,
    remove_unfinished,
)

__all__ = [
    "PIPE",
    "BackupResult",
    "ExportResult",
    "ImportResult",
    "back_up",
    "back_up_folder",
    "export_bank",
    "import_bank",
    "remove_unfinished",
    "restore_folder",
]
