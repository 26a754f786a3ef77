"""What a memory can be filtered by, as terms: its tags, scope, documents, chunks and metadata.

A memory holds the list of its own in `facets`, which the full-text index covers too. A condition
is thus a look into that list, and also a short way to the few memories that meet it.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterable, Sequence

from hindsight_integrations.model import Memory, MetadataValue, Source
from hindsight_integrations.storage.neo4j.lucene import term

_STATED = ("document:", "chunk:")
_EXACT_BITS = 64
_REST = 1 << 12
"""Greater than how far a 64-bit whole number lies from the nearest float."""


def facets_of(memory: Memory) -> list[str]:
    """All facets of a memory."""
    found = [facet("tag", tag) for tag in memory.tags]
    if memory.scope is not None:
        found.append(facet("scope", memory.scope))
    found += [metadata_facet(field, value) for field, value in memory.metadata.items()]
    return restated(found, memory.sources)


def restated(facets: Iterable[str], sources: Sequence[Source]) -> list[str]:
    """The facets of a memory that has these sources now."""
    kept = [each for each in facets if not each.startswith(_STATED)]
    kept += [facet("document", s.document_id) for s in sources if s.document_id is not None]
    kept += [facet("chunk", s.chunk_id) for s in sources if s.chunk_id is not None]
    return list(dict.fromkeys(kept))


def facet(kind: str, value: str) -> str:
    """A tag, scope, document or chunk as a term."""
    return term(f"{kind}:{value}")


def metadata_facet(field: str, value: MetadataValue) -> str:
    """A metadata field as a term: those of one field and kind sort as their values do."""
    if isinstance(value, bool):
        return term(f"{field_prefix(field, 'b')}{value}")
    if isinstance(value, str):
        return term(f"{field_prefix(field, 't')}{value}")
    return term(f"{field_prefix(field, 'n')}{_sortable(value)}")


def field_prefix(field: str, kind: str) -> str:
    """What the terms of a field's booleans ("b"), numbers ("n") or texts ("t") begin with."""
    return term(f"metadata:{json.dumps(field, ensure_ascii=False)}{kind}")


def kind_of(value: MetadataValue) -> str:
    """The kind of a metadata value: "b", "n" or "t"."""
    return "b" if isinstance(value, bool) else "t" if isinstance(value, str) else "n"


def _sortable(value: float) -> str:
    """A number as 20 hexadecimal digits that sort as numbers do; exact for 64 bits.

    The bits of the nearest float, those of a negative one inverted, and how far from it a whole
    number lies.
    """
    nearest = float(value) + 0.0  # -0.0 is 0.0
    (bits,) = struct.unpack(">Q", struct.pack(">d", nearest))
    bits ^= (1 << 64) - 1 if bits >> 63 else 1 << 63
    exact = isinstance(value, int) and value.bit_length() <= _EXACT_BITS
    rest = int(value) - int(nearest) if exact else 0
    return f"{bits:016x}{rest + _REST:04x}"
