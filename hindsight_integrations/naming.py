"""Normal forms under which names and texts count as the same. Shared by all stores."""

from __future__ import annotations

import hashlib
import re
import unicodedata

_POSSESSIVE = re.compile(r"['’]s$")
_NOT_WORD = re.compile(r"[^\w+#]+")


def entity_norm(name: str) -> str:
    """The form under which two spellings of a name are one: "  Café-Möbius’s" is "cafe mobius".

    Case, accents, punctuation and a final possessive do not count, save for `+` and `#`
    ("C++" is not "C"); a name of nothing else keeps its symbols.
    """
    folded = unicodedata.normalize("NFKD", name.strip().casefold())
    plain = "".join(c for c in folded if not unicodedata.combining(c))
    plain = _POSSESSIVE.sub("", plain)
    return _NOT_WORD.sub(" ", plain.replace("_", " ")).strip() or folded


def text_fingerprint(text: str, speaker: str | None = None) -> str:
    """Hash of a statement under which repetitions of it are found.

    Case, punctuation and white space do not count; who said it does.
    """
    folded = unicodedata.normalize("NFKC", text).casefold()
    words = " ".join(_NOT_WORD.sub(" ", folded).split()) or folded
    digest = hashlib.blake2b(f"{speaker or ''}\x1f{words}".encode(errors="replace"), digest_size=16)
    return digest.hexdigest()
