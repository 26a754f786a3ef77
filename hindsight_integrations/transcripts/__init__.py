"""Conversations and memories that people have elsewhere, retained with speakers and dates."""

from hindsight_integrations.transcripts.importing import ImportedTranscripts, import_transcripts
from hindsight_integrations.transcripts.reading import (
    Transcript,
    conversation_in,
    read_transcripts,
)

__all__ = [
    "ImportedTranscripts",
    "Transcript",
    "conversation_in",
    "import_transcripts",
    "read_transcripts",
]
