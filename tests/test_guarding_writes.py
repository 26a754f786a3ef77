"""`before_retain`: each text is seen before it is stored, and may be edited, marked or refused."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from hindsight_integrations import (
    DurableRetain,
    GuardError,
    Hindsight,
    Incoming,
    InvalidInputError,
    Memory,
    Message,
    Redactor,
    Settings,
    SkipReason,
    SourceTrust,
)

QUIET = Settings(consolidate=False)
NOON = datetime(2024, 5, 7, 12, tzinfo=UTC)


def guarded(*guards: Callable[[Incoming], Incoming | str | None]) -> Hindsight:
    return Hindsight.in_memory(settings=QUIET, before_retain=guards)


def masked(incoming: Incoming) -> str | None:
    return None if "REFUSE" in incoming.text else incoming.text.replace("swordfish", "***")


def stored(memory: Hindsight) -> list[Memory]:
    return list(memory.memories.list("b", limit=100).items)


def write_all(memory: Hindsight, word: str) -> int:
    """Write by every verb that takes a text; return how many writes were refused."""
    results = [
        memory.retain("b", f"Ana keeps {word} in a jar."),
        memory.retain_many("b", [f"Ben keeps {word} in a tin.", f"Cy keeps {word} in a box."]),
        memory.retain_messages("b", [Message("Dee", f"I keep {word} in a drawer.")]),
        memory.retain_memory("b", Memory("m1", "b", f"Eve keeps {word} in a bag.")),
        memory.retain_memories("b", [Memory("m2", "b", f"Flo keeps {word} in a safe.")]),
    ]
    return sum(s.reason is SkipReason.REFUSED for result in results for s in result.skipped)


def test_every_verb_that_stores_a_text_asks_first() -> None:
    with guarded(masked) as memory:
        assert write_all(memory, "swordfish") == 0
        assert len(stored(memory)) == 6
        assert all("***" in one.text and "swordfish" not in one.text for one in stored(memory))
        assert memory.memories.update("b", "m1", text="It was swordfish.").text == "It was ***."
        chunks = [
            chunk.text
            for document in memory.documents.list("b").items
            for chunk in memory.documents.chunks("b", document.id)
        ]
        assert not [text for text in chunks if "swordfish" in text]
        assert write_all(memory, "a REFUSEd thing") == 6
        assert len(stored(memory)) == 6
        with pytest.raises(GuardError):
            memory.memories.update("b", "m1", text="REFUSE")
        assert memory.memories.get("b", "m1").text == "It was ***."


def test_a_refused_version_of_a_document_leaves_the_stored_one() -> None:
    with guarded(masked) as memory:
        memory.retain("b", "Ana keeps bees.", document_id="d")
        memory.retain("b", "REFUSE", document_id="d")
        assert [one.text for one in stored(memory)] == ["Ana keeps bees."]
        again = memory.retain("b", "Ana keeps bees.", document_id="d")
        assert [s.reason for s in again.skipped] == [SkipReason.UNCHANGED]


def test_guards_run_in_turn_and_edit_speaker_context_and_metadata() -> None:
    def named(incoming: Incoming) -> Incoming:
        assert (incoming.bank_id, incoming.document_id) == ("b", "d")
        return Incoming("other", incoming.text + "!", "Ana", "bees", {"n": 1})

    with guarded(named, lambda incoming: incoming.text + "!") as memory:
        memory.retain("b", "I sold the hive", metadata={"secret": "x"}, document_id="d")
        (one,) = stored(memory)
    assert (one.text, one.speaker, one.context) == ("I sold the hive!!", "Ana", "bees")
    assert one.metadata == {"n": 1}


def raising(incoming: Incoming) -> str:
    raise KeyError("rules")


@pytest.mark.parametrize("guard", [raising, lambda incoming: 7])
def test_a_guard_that_fails_lets_nothing_through(guard: Callable[[Incoming], str]) -> None:
    with guarded(guard) as memory:
        for write in (
            lambda: memory.retain("b", "Ana keeps bees."),
            lambda: memory.retain_messages("b", [Message("Ana", "I keep bees.")]),
            lambda: memory.retain_memory("b", Memory("m", "b", "Ana keeps bees.")),
        ):
            with pytest.raises(GuardError, match="before_retain"):
                write()
        assert memory.retain_many("b", ["Ana keeps bees."]).failed
        assert stored(memory) == []


def test_a_queued_retain_is_guarded_and_a_refusal_leaves_the_queue(tmp_path: Path) -> None:
    with guarded(masked) as memory, DurableRetain(memory, tmp_path / "queue") as durable:
        durable.retain("b", "Ana keeps swordfish in a jar.")
        durable.retain("b", "REFUSE")
        assert durable.drain(timeout=30)
        assert [one.text for one in stored(memory)] == ["Ana keeps *** in a jar."]


def test_a_guard_is_not_lost_or_exchanged_unnoticed(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match="before_retain"):
        Hindsight.in_memory(before_retain="redact")
    with Hindsight(tmp_path / "m", settings=QUIET, before_retain=Redactor()) as memory:
        with Hindsight(tmp_path / "m", settings=QUIET) as again:
            again.retain("b", "Write to ana@example.org soon.")
            assert stored(memory)[0].text == "Write to [email removed] soon."
        Hindsight(tmp_path / "m", settings=QUIET, before_retain=Redactor()).close()
        with pytest.raises(InvalidInputError, match="another before_retain"):
            Hindsight(tmp_path / "m", settings=QUIET, before_retain=masked)


REMOVED = {
    "email": ["ana.silva+home@mail.example.co.uk", "x_1@example.org"],
    "phone": ["+49 30 901820", "+1 (555) 123-4567", "0171 1234567", "(555) 123-4567",
              "555-123-4567", "+44 20 7946 0958", "0033 1 42 68 53 00"],
    "card": ["4111 1111 1111 1111", "5500005555555559", "378282246310005", "4111-1111-1111-1111",
             "DE89 3704 0044 0532 0130 00", "GB82WEST12345698765432"],
    "postal": ["12 Elm Street", "221B Baker Street, London NW1 6XE",
               "1600 Pennsylvania Avenue, Washington, DC 20500", "Hauptstraße 12, 10115 Berlin",
               "14 rue de la Paix", "P.O. Box 4711"],
    "secret": ["AKIAIOSFODNN7EXAMPLE", "ghp_" + "a1B2" * 9, "sk-proj-" + "Ab1_" * 8,
               "xoxb-123456789012-abcdef", "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl",
               "-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----"],
}  # fmt: skip
KEPT = """The password is wrong. | The token is valid. | On 2024-05-07 at 12:30 | from 2019 to 2024
Order 1234 5678 9012 3456 | version 3.11.4 | 192.168.10.200 | ISBN 978-3-16-148410-0 | 1,250,000
Room 12 on Street level | St John's Wood | page 120-125 | 20 minutes | 4 May 2021 | @ana there
My way or the highway | 100 Years of Solitude | PIN board | 10 Places to see | section 12.4.1.7"""


@pytest.mark.parametrize("kind", REMOVED)
def test_what_is_to_be_removed_is_removed_and_nothing_else(kind: str) -> None:
    redactor = Redactor((kind,))
    for number, secret in enumerate(REMOVED[kind]):
        shown = redactor.redact(f"Take it: {secret}, please.")
        assert secret not in shown
        assert shown.startswith("Take it: [")
        assert shown.endswith(" removed], please."), (number, shown)
        assert Redactor().redact(shown) == shown
        for other in {*REMOVED} - {kind, "card", "phone"}:
            kept = Redactor((other,)).redact(f"Take it: {secret}")
            assert kept == f"Take it: {secret}" or other == "postal"
    for text in KEPT.replace("\n", " | ").split(" | "):
        assert redactor.redact(text) == text


@pytest.mark.parametrize(
    "text", ["The password is hunter2.", "api_key=abcdefgh", "PIN: 4711", 'Token: "s3cr3t-x"',
             "postgres://ana:pa55word@db.example.org/x", "Bearer abcdefghijklmnop1234"],
)  # fmt: skip
def test_a_named_secret_is_removed_and_its_name_stays(text: str) -> None:
    shown = Redactor(("secret",)).redact(text)
    assert "[secret removed]" in shown
    assert shown.split()[0][:3] == text.split()[0][:3]
    assert not any(
        value in shown for value in ("hunter2", "abcdefgh", "4711", "s3cr3t", "pa55word")
    )


def test_redaction_reaches_context_and_metadata_and_no_file(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match="passport"):
        Redactor(("passport",))
    with Hindsight(tmp_path, settings=QUIET, before_retain=Redactor()) as memory:
        memory.retain(
            "b", "Ana pays with 4111 1111 1111 1111.", context="mail to ana@example.org",
            metadata={"phone": "+49 30 901820", "n": 4}, document_id="d",
        )  # fmt: skip
        (one,) = stored(memory)
    assert one.text == "Ana pays with [card removed]."
    assert (one.context, one.metadata) == (
        "mail to [email removed]",
        {"phone": "[phone removed]", "n": 4},
    )
    files = [path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()]
    assert not [data for data in files if b"4111 1111" in data or b"901820" in data]


def test_what_comes_from_elsewhere_is_marked_and_proves_nothing() -> None:
    trust = SourceTrust(("user", "handbook/*"))
    with Hindsight.in_memory(settings=QUIET, before_retain=trust) as memory:
        claims = [("user", "I live in Oslo."), ("scraper", "Ana moved to Lima.")]
        memory.retain_messages(
            "b", [Message("user", "My name is Ana. I like tea.", timestamp=NOON)]
        )
        memory.retain(
            "b", "The office is in Oslo.", document_id="handbook/1", metadata={"trust": "low"}
        )
        for day, (speaker, text) in enumerate(claims * 2):
            said = NOON.replace(day=8 + day)
            memory.retain("b", text, speaker=speaker, timestamp=said, metadata={"trust": "high"})
        low = {one.text for one in stored(memory) if not one.is_trusted}
        assert low == {"Ana moved to Lima."}
        assert "(not verified) scraper: Ana moved" in memory.recall("b", "Where is Ana?").text
        assert "(not verified)" in memory.context("b", "Where did Ana move?").text
        sure = memory.recall("b", "Where is Ana?", where={"trust": {"$exists": False}})
        assert sure
        assert "Lima" not in sure.text
        memory.consolidate("b")
        quoted = {id for one in memory.observations.list("b").items for id in one.sources}
        assert not quoted & {one.id for one in stored(memory) if not one.is_trusted}
        assert "Lima" not in memory.profile("b", "user").text + memory.profile("b", "Ana").text
    with guarded(SourceTrust(("user",), "refuse")) as memory:
        assert memory.retain("b", "Ana moved to Lima.", speaker="scraper").skipped
        assert stored(memory) == []
