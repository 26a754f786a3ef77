"""Mails: what one quotes is not its author's word, and what stands below all of them is no news."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from hindsight_integrations import Hindsight, Message, TurnKind
from hindsight_integrations.retain import mail
from hindsight_integrations.retain.chunking import split

DAY = datetime(2024, 3, 1, 9, tzinfo=UTC)
NOTICE = "--\nThis message is confidential and meant only for whom it is addressed to."

ANSWER = f"""Hello Ann,

the loan is fine, but the carved panel stays here. It is too fragile to travel.

On Monday Ann Dace wrote:
> I would love to have the six cans
> and the carved panel for spring.

Odile Brandt
Keeper of the collection
{NOTICE}
"""


def words(text: str) -> int:
    return len(text.split())


def test_the_parts_of_a_mail_are_chunks_of_their_own() -> None:
    chunks = split(ANSWER, 200, words)
    assert [mail.kind_of_part(chunk) for chunk in chunks] == [
        None,
        TurnKind.QUOTATION,
        None,
        TurnKind.SIGNATURE,
    ]
    assert chunks[1].startswith("On Monday Ann Dace wrote:\n> I would love")
    assert chunks[-1] == NOTICE


def test_a_line_with_dashes_is_no_separator() -> None:
    text = "the tap -- the old one -- drips\n---\nand the lid -- too\n"
    assert [*mail.parts(text)] == [text]
    assert [*mail.parts("one\r\n-- \r\ntwo\r\n")] == ["one\r\n", "-- \r\ntwo\r\n"]


@given(st.text(st.sampled_from("-> \nab"), max_size=60))
def test_the_parts_join_to_the_paragraph(text: str) -> None:
    assert "".join(mail.parts(text)) == text


def test_what_a_mail_quotes_is_found_but_proves_nothing(memory: Hindsight) -> None:
    for day in range(3):
        said = Message("Odile", ANSWER, DAY + timedelta(days=day))
        memory.retain_messages("b", [said], session=str(day))
    stored = memory.memories.list("b", limit=50).items
    quoted = [one for one in stored if one.kind == TurnKind.QUOTATION]
    assert quoted
    assert not any(one.is_evidence or one.is_context for one in quoted)
    found = memory.recall("b", "Who wanted the six cans for spring?").memories
    assert found[0].memory.text.startswith("On Monday Ann Dace wrote:\n> I would")
    memory.consolidate("b")
    assert not memory.observations.list("b").items


def test_the_notice_below_all_mails_is_recalled_once(memory: Hindsight) -> None:
    for number, who in enumerate(("Ann", "Bo", "Cy")):
        text = f"Hall {number} is booked for the fair.\n{NOTICE}"
        memory.retain_messages("b", [Message(who, text, DAY)], session=who)
    found = memory.recall("b", "Which hall is booked? Is the message confidential?", fill=True)
    assert [item.memory.text for item in found].count(NOTICE) == 1
    assert len(found.memories) == 4


def test_a_note_may_quote_as_it_likes(memory: Hindsight) -> None:
    memory.retain("b", "> Slow is smooth, and smooth is fast.")
    (kept,) = memory.memories.list("b").items
    assert (kept.kind, kept.is_evidence) == (None, True)


def test_a_quotation_that_is_corrected_is_a_statement(memory: Hindsight) -> None:
    (kept,) = memory.retain_messages("b", [Message("Ann", "> the panel is oak")]).stored
    assert kept.kind == TurnKind.QUOTATION
    assert memory.memories.update("b", kept.id, text="The panel is elm.").kind is None
