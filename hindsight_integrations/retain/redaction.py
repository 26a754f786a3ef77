"""Replace addresses, phone and card numbers and secrets in texts before they are stored.

The forms are those that can be told by themselves: a number with a check digit, a key with its
prefix, an address with its street. A rule that guessed more would remove dates and part numbers.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from hindsight_integrations import validation
from hindsight_integrations.retain.guard import Incoming

_EMAIL = re.compile(r"(?<![\w.+-])[\w.+-]{1,64}@(?:[\w-]{1,63}\.){1,8}[A-Za-z]{2,24}\b")
_CARD = re.compile(r"(?<![\d.,/-])[2-6]\d{3}(?:[ -]?\d){8,14}\d(?![\d-])")
_IBAN = re.compile(r"\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?\b")
_PHONES = (
    r"(?<![\w+/.-])(?:\+|00)[1-9]\d{0,2}[ ./-]?\(?\d{1,4}\)?(?:[ ./-]?\d{2,4}){1,5}\b",
    r"(?<![\w+/.-])\(?0\d{1,5}\)?[ /-]\d{2,4}(?:[ -]?\d{2,4}){1,3}\b(?![-/.]\d)",
    r"(?<![\w+.-])(?:\(\d{3}\) ?|\d{3}[-. ])\d{3}[-. ]\d{4}(?![\w-])",
    r"(?i:(?<=phone )|(?<=phone: )|(?<=mobile )|(?<=mobile: )|(?<=call )|(?<=tel )|(?<=tel: )"
    r"|(?<=number is ))\d[\d -]{5,14}\d\b",
)
_PHONE = re.compile("|".join(_PHONES))
_STREETS = (
    "Street|St|Road|Rd|Avenue|Ave|Lane|Ln|Drive|Boulevard|Blvd|Court|Square|Terrace|Crescent|Close|"
    "Gardens|Highway|Parkway|Mews|Place|Way"
)
_POSTAL = re.compile(
    rf"\b\d{{1,5}}[A-Za-z]?,? (?:[A-Z][\w'’.-]{{0,30}} ){{1,4}}(?:{_STREETS})\b\.?"
    r"(?:,? (?:Apt|Flat|Unit|Suite|#)\.? ?\w{1,6})?"
    r"(?:, [A-Z][a-z'’-]{1,30}(?: [A-Z][a-z'’-]{1,30})?)?"
    r"(?:,? [A-Z]{2} \d{5}(?:-\d{4})?|,? [A-Z]{1,2}\d[A-Z\d]? ?\d[A-Z]{2})?"
    r"|\b[A-ZÄÖÜ][\wäöüß-]{1,40}(?:straße|strasse|str\.|weg|gasse|platz|allee|ufer|damm) \d{1,4}"
    r"(?: ?[a-z]\b)?(?:, ?\d{5} [A-ZÄÖÜ][\wäöüß-]{1,40})?"
    r"|\b\d{1,4}(?: bis| ter)?,? (?:rue|avenue|boulevard|chemin|allée|impasse|quai) "
    r"(?:de la |de |du |des |d['’]|l['’])?[A-ZÀ-Ý][\w'’-]{1,40}(?: [A-ZÀ-Ý][\w'’-]{1,40}){0,3}"
    r"(?:, ?\d{5} [A-ZÀ-Ý][\w-]{1,40})?"
    r"|\b[A-Z]{1,2}\d[A-Z\d]? \d[A-Z]{2}\b|\bP\.? ?O\.? Box \d{1,8}\b"
)
_SECRET = re.compile(
    r"-----BEGIN [A-Z ]{0,30}PRIVATE KEY-----.*?(?:-----END [A-Z ]{0,30}PRIVATE KEY-----|\Z)"
    r"|\b(?:AKIA|ASIA)[0-9A-Z]{16}\b"
    r"|\bgh[pousr]_[A-Za-z0-9]{30,255}|\bgithub_pat_\w{22,255}|\bglpat-[\w-]{20,}"
    r"|\b(?:sk|pk|rk)[-_][\w-]{20,200}|\bxox[abeprs]-[\w-]{10,200}|\bAIza[\w-]{30,60}"
    r"|\bhf_[A-Za-z0-9]{30,60}|\bnpm_[A-Za-z0-9]{30,60}|\bpypi-[\w-]{16,300}"
    r"|\beyJ[\w-]{8,4000}\.[\w-]{4,8000}\.[\w-]{4,2000}"
    r"|(?<=://)[^\s/:@]{1,200}:[^\s/@]{1,200}(?=@)"
    r"|(?i:(?<=bearer ))[\w.~+/-]{16,4000}=*",
    re.DOTALL,
)
_NAMED_SECRET = re.compile(
    r"""\b (?: pass(?:word|wd|phrase|code) | pwd | secret | api[ _-]?key | access[ _-]?key | token
    | pin(?:[ ]code)? ) \b ["']? \s{0,3} (?: (?P<set>[:=]) | (?:is|was) )
    \s{0,3} ["']? (?P<value>[^\s"',;]{4,200})""",
    re.IGNORECASE | re.VERBOSE,
)


def _luhn(text: str) -> bool:
    """Return True if the check digit of a card number is right (ISO/IEC 7812)."""
    digits = [int(c) for c in reversed(text) if c.isdigit()]
    doubled = (sum(divmod(2 * digit, 10)) for digit in digits[1::2])
    return 13 <= len(digits) <= 19 and (sum(digits[::2]) + sum(doubled)) % 10 == 0


def _iban(text: str) -> bool:
    """Return True if the check digits of an IBAN are right (ISO 13616)."""
    plain = text.replace(" ", "")
    turned = "".join(str(int(c, 36)) for c in plain[4:] + plain[:4])
    return 15 <= len(plain) <= 34 and int(turned) % 97 == 1


def _phone(text: str) -> bool:
    """Return True for as many digits as a phone number has (ITU-T E.164: at most 15)."""
    return 7 <= sum(c.isdigit() for c in text) <= 15


def _where(
    pattern: re.Pattern[str], mark: str, holds: Callable[[str], bool]
) -> Callable[[str], str]:
    return lambda text: pattern.sub(lambda m: mark if holds(m[0]) else m[0], text)


def _cards(text: str) -> str:
    text = _where(_IBAN, "[card removed]", _iban)(text)
    return _where(_CARD, "[card removed]", _luhn)(text)


def _secrets(text: str) -> str:
    def hidden(match: re.Match[str]) -> str:
        value = match["value"].rstrip(".!?)")
        odd = any(not c.isalpha() for c in value) or not (value.islower() or value.istitle())
        if value.startswith("[") or not (match["set"] or odd):
            return match[0]  # "the password is wrong"
        at = match.start("value") - match.start()
        return f"{match[0][:at]}[secret removed]{match[0][at + len(value) :]}"

    return _NAMED_SECRET.sub(hidden, _SECRET.sub("[secret removed]", text))


_KINDS: dict[str, Callable[[str], str]] = {
    "secret": _secrets,
    "email": lambda text: _EMAIL.sub("[email removed]", text),
    "card": _cards,
    "phone": _where(_PHONE, "[phone removed]", _phone),
    "postal": lambda text: _POSTAL.sub("[address removed]", text),
}
"""Redactions by kind, in the order in which they run: a key may look like a phone number."""


@dataclass(frozen=True, slots=True)
class Redactor:
    """Removes personal numbers and secrets from what is retained; for `before_retain`.

    Text, context and metadata are redacted, not the names of speakers, tags and documents.

    Args:
        kinds: some of "email", "postal" (street addresses), "phone", "card" (payment cards and
            IBANs) and "secret" (keys, tokens, passwords); all by default.

    Raises:
        InvalidInputError: there is no such kind.
    """

    kinds: tuple[str, ...] = field(default=tuple(_KINDS))

    def __post_init__(self) -> None:
        given = validation.items_or_one("kinds", self.kinds, f"some of {', '.join(_KINDS)}")
        chosen = {validation.choice("a kind of redaction", kind, _KINDS) for kind in given}
        object.__setattr__(self, "kinds", tuple(kind for kind in _KINDS if kind in chosen))

    def __call__(self, incoming: Incoming) -> Incoming:
        """Return the text without what is to be removed."""
        metadata = {
            name: self.redact(value) if isinstance(value, str) else value
            for name, value in incoming.metadata.items()
        }
        context = incoming.context and self.redact(incoming.context)
        return replace(
            incoming, text=self.redact(incoming.text), context=context, metadata=metadata
        )

    def redact(self, text: str) -> str:
        """Return a text without what is to be removed, each with a note in its place."""
        for kind in self.kinds:
            text = _KINDS[kind](text)
        return text
