"""Corrections in the viewer: each asks first, is done by the engine, and undone where it can be."""

from __future__ import annotations

from datetime import timedelta

import pytest

from hindsight_integrations import Hindsight
from hindsight_integrations.errors import MemoryNotFoundError

from .conftest import SAID, Reader

TEXT = "Alice moved to Bergen in May 2024."


@pytest.fixture
def moved(viewed: Hindsight, reader: Reader) -> str:
    """Id of a memory in the reader's bank."""
    (id,) = viewed.retain(
        reader.bank, TEXT, timestamp=SAID, tags=["home"], metadata={"page": 3, "seen": True}
    ).ids
    return id


def form_of(viewed: Hindsight, reader: Reader, id: str, **changed: str) -> dict[str, str]:
    """Fields of the form as the page has them, with some changed."""
    page = reader.get("memory/edit", id=id)
    fields = {
        a["name"]: a.get("value", "")
        for tag, a in page.tags
        if tag == "input" and a.get("type") != "checkbox" and a.get("name") not in ("query", "bank")
    }
    memory = viewed.memories.get(reader.bank, id)
    fields |= {"text": memory.text, "type": memory.type.value}
    fields |= {"entities": "\r\n".join(memory.entities), "tags": "\r\n".join(memory.tags)}
    fields["metadata"] = '{"page": 3, "seen": true}'
    return fields | changed


def test_a_correction_changes_only_what_was_changed_and_is_undone(
    viewed: Hindsight, reader: Reader, moved: str
) -> None:
    before = viewed.memories.get(reader.bank, moved)
    fields = form_of(viewed, reader, moved, text="Alice moved to Oslo in June 2024.", reason="typo")
    page = reader.send(f"memory/edit?id={moved}", **fields)
    assert "Corrected: text." in page.text
    after = viewed.memories.get(reader.bank, moved)
    assert after.text == "Alice moved to Oslo in June 2024."
    assert "Oslo" in after.entities
    assert (after.tags, after.metadata) == (before.tags, before.metadata)
    assert viewed.memories.history(reader.bank, moved)[0].reason == "typo"
    assert "The correction was undone." in reader.undo(page).text
    back = viewed.memories.get(reader.bank, moved)
    assert (back.text, back.entities, back.occurred) == (TEXT, before.entities, before.occurred)
    assert "can no longer be undone" in reader.undo(page).text


def test_every_field_of_the_form_arrives(viewed: Hindsight, reader: Reader, moved: str) -> None:
    fields = form_of(
        viewed,
        reader,
        moved,
        type="experience",
        speaker="Mara",
        mentioned_at="2025-01-02T03:04",
        entities="Alice\r\nHansa",
        tags="a, b\r\nc",
        metadata='{"page": 4}',
        confidence="0.5",
        expires_at="2090-01-01",
    )
    reader.send(f"memory/edit?id={moved}", **fields)
    memory = viewed.memories.get(reader.bank, moved)
    assert (memory.text, memory.type, memory.speaker) == (TEXT, "experience", "Mara")
    assert f"{memory.mentioned_at:%Y-%m-%d %H:%M}" == "2025-01-02 03:04"
    assert memory.entities == ("Alice", "Hansa")
    assert (memory.tags, dict(memory.metadata)) == (("a, b", "c"), {"page": 4})
    assert memory.confidence == 0.5
    assert memory.expires_at is not None
    reader.send(f"memory/edit?id={moved}", **form_of(viewed, reader, moved, pinned="1"))
    assert viewed.memories.get(reader.bank, moved).pinned


def test_nothing_is_stored_for_a_form_sent_back_as_it_was(
    viewed: Hindsight, reader: Reader, moved: str
) -> None:
    page = reader.send(f"memory/edit?id={moved}", **form_of(viewed, reader, moved))
    assert "Nothing was changed." in page.text
    assert viewed.memories.history(reader.bank, moved) == []


def test_control_characters_of_a_text_that_is_not_edited_stay(
    viewed: Hindsight, reader: Reader
) -> None:
    (id,) = viewed.retain(reader.bank, "Alice wrote \x1b[31mred\x1b[0m.\r\nTwice.").ids
    text = viewed.memories.get(reader.bank, id).text
    assert "\x1b" in text
    page = reader.get("memory/edit", id=id)
    assert "\\x1b[31mred" in page.text
    fields = form_of(viewed, reader, id, tags="red", metadata="")
    fields["text"] = text.replace("\x1b", "\\x1b").replace("\r\n", "\n")  # as the form shows it
    reader.send(f"memory/edit?id={id}", **fields)
    memory = viewed.memories.get(reader.bank, id)
    assert (memory.text, memory.tags) == (text, ("red",))


def test_a_form_of_an_older_state_is_refused(viewed: Hindsight, reader: Reader, moved: str) -> None:
    fields = form_of(viewed, reader, moved, text="Alice stayed.")
    viewed.memories.update(reader.bank, moved, tags=["moved"])
    page = reader.send(f"memory/edit?id={moved}", 409, **fields)
    assert "changed after this form was opened" in page.text
    assert viewed.memories.get(reader.bank, moved).text == TEXT


@pytest.mark.parametrize(
    ("wrong", "problem"),
    [
        ({"metadata": "[1]"}, "not a JSON object"),
        ({"metadata": "{"}, "not JSON"),
        ({"metadata": "[" * 100_000}, "nested too deeply"),
        ({"confidence": "2"}, "confidence is 2"),
        ({"mentioned_at": "soon"}, "give a date"),
    ],
    ids=["list", "cut", "deep", "confidence", "time"],
)
def test_a_correction_that_cannot_be_made_says_why(
    viewed: Hindsight, reader: Reader, moved: str, wrong: dict[str, str], problem: str
) -> None:
    page = reader.send(f"memory/edit?id={moved}", 400, **form_of(viewed, reader, moved, **wrong))
    assert problem in page.text
    assert viewed.memories.history(reader.bank, moved) == []


def test_invalidating_and_restoring_ask_first_and_undo_each_other(
    viewed: Hindsight, reader: Reader, moved: str
) -> None:
    assert "Invalidate this memory?" in reader.get("memory/invalidate", id=moved).text
    assert viewed.memories.get(reader.bank, moved).invalidated_at is None
    page = reader.send(f"memory/invalidate?id={moved}", reason="never true")
    assert viewed.memories.get(reader.bank, moved).invalidated_because == "never true"
    assert "because never true" in page.text
    reader.undo(page)
    assert viewed.memories.get(reader.bank, moved).invalidated_at is None
    viewed.memories.invalidate(reader.bank, moved, "again")
    assert "Restore this memory?" in reader.get("memory/restore", id=moved).text
    restored = reader.send(f"memory/restore?id={moved}")
    assert viewed.memories.get(reader.bank, moved).invalidated_at is None
    reader.undo(restored)
    assert viewed.memories.get(reader.bank, moved).invalidated_because == "again"


def test_forgetting_shows_what_goes_with_it_and_can_be_for_good(
    viewed: Hindsight, reader: Reader, moved: str
) -> None:
    viewed.observations.add(reader.bank, "Alice lives by the sea.", sources=[moved])
    asked = reader.get("memory/forget", id=moved)
    assert "cannot be undone" in asked.text
    assert "Alice lives by the sea." in asked.text
    page = reader.send(f"memory/forget?id={moved}", when="now")
    assert "Forgotten for good" in page.text
    assert not [a for _, a in page.tags if a.get("name") == "key"]
    with pytest.raises(MemoryNotFoundError):
        viewed.memories.get(reader.bank, moved)


def test_a_memory_forgotten_for_a_time_is_in_no_answer_and_restored(
    viewed: Hindsight, reader: Reader, moved: str
) -> None:
    def is_recalled() -> bool:
        found = viewed.recall(reader.bank, viewed.memories.get(reader.bank, moved).text)
        return moved in {item.id for item in found}

    assert is_recalled()
    page = reader.send(f"memory/forget?id={moved}", when="later")
    assert "can be restored until" in page.text
    assert not is_recalled()
    reader.undo(page)
    assert is_recalled()
    reader.send(f"memory/forget?id={moved}", when="later")
    ends = viewed.memories.get(reader.bank, moved).expires_at
    restored = reader.send(f"memory/restore?id={moved}")
    assert is_recalled()
    reader.undo(restored)
    assert not is_recalled()
    again = viewed.memories.get(reader.bank, moved).expires_at
    assert ends is not None
    assert again is not None
    assert abs(again - ends) < timedelta(minutes=1)


def test_a_merge_is_asked_done_and_undone(viewed: Hindsight, reader: Reader) -> None:
    viewed.retain(reader.bank, "Robert Olsen sings.", entities=["Robert Olsen"])
    viewed.retain(reader.bank, "Bob Larsen paints.", entities=["Bob Larsen"])
    robert, bob = (viewed.entities.get(reader.bank, n) for n in ("Robert Olsen", "Bob Larsen"))
    assert "name another" in reader.get("entity/merge", id=bob.id, into=bob.id).text
    asked = reader.get("entity/merge", id=bob.id, into="Robert Olsen")
    assert "Make Bob Larsen and Robert Olsen one?" in asked.text
    page = reader.send(f"entity/merge?id={bob.id}&into={robert.id}")
    assert viewed.entities.get(reader.bank, "Bob Larsen").id == robert.id
    reader.undo(page)
    back = viewed.entities.get(reader.bank, "Bob Larsen")
    assert (back.id != robert.id, back.mention_count) == (True, 1)
    assert viewed.entities.get(reader.bank, robert.id).aliases == ()


def test_a_merge_that_no_split_could_take_back_offers_no_undo(
    viewed: Hindsight, reader: Reader
) -> None:
    viewed.retain(
        reader.bank, "Robert Olsen met Bob Larsen.", entities=["Robert Olsen", "Bob Larsen"]
    )
    robert, bob = (viewed.entities.get(reader.bank, n) for n in ("Robert Olsen", "Bob Larsen"))
    page = reader.send(f"entity/merge?id={bob.id}&into={robert.id}")
    assert not [a for _, a in page.tags if a.get("name") == "key"]


def test_a_split_takes_the_ticked_memories_and_is_undone(viewed: Hindsight, reader: Reader) -> None:
    ids = [
        viewed.retain(reader.bank, text, entities=["Alex"]).ids[0]
        for text in ("Alex sings.", "Alex paints.")
    ]
    alex = viewed.entities.get(reader.bank, "Alex")
    asked = reader.get("entity/split", id=alex.id)
    assert {a["value"] for tag, a in asked.tags if a.get("name") == "memory"} == set(ids)
    refused = reader.send(f"entity/split?id={alex.id}", 400, name="Alex Berg")
    assert "no memory was chosen" in refused.text
    page = reader.send(f"entity/split?id={alex.id}", name="Alex Berg", memory=[ids[1]])
    assert viewed.memories.get(reader.bank, ids[1]).entities == ("Alex Berg",)
    reader.undo(page)
    assert viewed.memories.get(reader.bank, ids[1]).entities == ("Alex",)


def test_an_entity_is_renamed(viewed: Hindsight, reader: Reader, moved: str) -> None:
    alice = viewed.entities.get(reader.bank, "Alice")
    page = reader.send(f"entity/rename?id={alice.id}", name="Alice Vik")
    assert viewed.entities.get(reader.bank, alice.id).name == "Alice Vik"
    reader.undo(page)
    assert viewed.entities.get(reader.bank, alice.id).name == "Alice"


def test_a_suggested_merge_is_refused_for_good(viewed: Hindsight, reader: Reader) -> None:
    for name in ("Katarzyna Lind", "Katarzyna Lind", "Katarina Lind"):
        viewed.retain(reader.bank, f"{name} led it.", entities=[name, "Project Heron"])
    (pair,) = viewed.entities.suggest_merges(reader.bank)
    assert "Katarina Lind" in reader.get("suggestions", compared=1).text
    page = reader.send(f"entity/apart?id={pair.source.id}&into={pair.target.id}")
    assert "stay two" in page.text
    assert "No two entities look like one." in reader.get("suggestions", compared=1).text


def test_a_mental_model_is_corrected_undone_and_refreshed(
    viewed: Hindsight, reader: Reader, moved: str
) -> None:
    model = viewed.mental_models.create(reader.bank, "Home", source_query="Where is Alice?")
    fields = {"name": "Home", "text": "In Bergen, by the sea.", "tags": ""}
    page = reader.send(f"model/edit?id={model.id}", **fields)
    assert "Corrected: text." in page.text
    assert viewed.mental_models.get(reader.bank, model.id).text == "In Bergen, by the sea."
    reader.undo(page)
    assert viewed.mental_models.get(reader.bank, model.id).text == model.text
    assert "Write Home again?" in reader.get("model/refresh", id=model.id).text
    refreshed = reader.send(f"model/refresh?id={model.id}")
    assert "Refreshed" in refreshed.text


def test_an_undo_that_fails_says_why(viewed: Hindsight, reader: Reader, moved: str) -> None:
    page = reader.send(f"memory/invalidate?id={moved}")
    viewed.forget(reader.bank, moved)
    undone = reader.undo(page)
    assert "has no memory" in undone.text
