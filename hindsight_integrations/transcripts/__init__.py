"""Conversations and memories that people have elsewhere, retained with speakers and dates."""

from hindsight_integrations.transcripts.importing import ImportedTranscripts, import_transcripts
from hindsight_integrations.transcripts.reading import Transcript, read_transcripts

__all__ = ["ImportedTranscripts", "Transcript", "import_transcripts", "read_transcripts"]
