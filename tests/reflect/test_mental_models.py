from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest

from hindsight_integrations import (
    BankNotFoundError,
    ConflictError,
    Hindsight,
    InvalidInputError,
    ModelError,
    NotFoundError,
)
from hindsight_integrations.models import MentalModel
from hindsight_integrations.nlp.llm import as_model
from hindsight_integrations.nlp.tokens import count
from hindsight_integrations.reflect.mental_models import MentalModelDependencies, refresh_due
from hindsight_integrations.results import Section, Staleness
from tests.reflect.models import Script, answer

QUERY = "Where does Ana sail?"


@pytest.fixture
def told(memory: Hindsight) -> Hindsight:
    memory.retain("b", "Ana sails on the Baltic in summer.")
    return memory


def from_query(memory: Hindsight, **options: Any) -> MentalModel:
    return memory.mental_models.create("b", "Ana's seas", source_query=QUERY, **options)


def parts(memory: Hindsight) -> MentalModelDependencies:
    runtime = memory.runtime
    return MentalModelDependencies(runtime.recalling, runtime.lock, runtime.model)


# Making them


def test_a_model_of_the_users_own_text_is_kept_as_it_is(told: Hindsight) -> None:
    model = told.mental_models.create("b", "Ana", text=" Ana is a sailor. ", tags=["people"])
    assert told.mental_models.get("b", model.id) == model
    assert (model.text, model.sources, model.tags) == ("Ana is a sailor.", (), ("people",))
    assert not told.mental_models.staleness("b", model.id)


def test_without_a_language_model_it_holds_the_memories_themselves(told: Hindsight) -> None:
    model = from_query(told)
    assert "Ana sails on the Baltic in summer." in model.text
    assert [told.memories.get("b", source).text for source in model.sources] == [
        "Ana sails on the Baltic in summer."
    ]


def test_a_language_model_writes_it_from_what_it_cites(told: Hindsight) -> None:
    script = Script(answer("She sails on the Baltic."))
    model = from_query(told, llm=script)
    assert model.text == "She sails on the Baltic."
    assert len(model.sources) == 1
    assert len(script.asked) == 1


def test_a_written_text_stays_within_its_tokens(told: Hindsight) -> None:
    told.retain_many("b", [f"Ana sails to harbour {n}." for n in range(30)])
    assert count(from_query(told, max_tokens=50).text) <= 50
    assert count(from_query(told, max_tokens=9, llm=Script(answer("word " * 50))).text) <= 9


def test_it_is_written_from_memories_that_share_its_tags(told: Hindsight) -> None:
    told.retain("b", "Ana sails on the North Sea.", tags=["secret"])
    assert "North Sea" in from_query(told, tags=["secret"]).text
    assert "Baltic" not in from_query(told, tags=["secret"]).text


def test_no_other_model_is_a_source_of_one(told: Hindsight) -> None:
    told.mental_models.create("b", "Where Ana sails", text="Ana sails on Mars.")
    script = Script(answer("She sails on the Baltic."))
    from_query(told, llm=script)
    assert "Mars" not in script.asked[0][1]


def test_none_is_made_but_by_the_user(told: Hindsight) -> None:
    told.context("b", QUERY)
    told.reflect("b", QUERY, llm=Script(answer("On the Baltic.")))
    refresh_due(parts(told), told.runtime.bank("b"))
    assert told.mental_models.list("b") == []


# Keeping them up


def test_a_newer_memory_on_its_matter_makes_it_stale_and_refreshing_ends_that(
    told: Hindsight,
) -> None:
    model = from_query(told)
    assert told.mental_models.staleness("b", model.id) == Staleness()
    told.retain("b", "The tower has nine grey windows.")
    assert not told.mental_models.staleness("b", model.id)
    [newer] = told.retain("b", "Ana now sails on the Adriatic.").ids
    assert told.mental_models.staleness("b", model.id).newer == (newer,)
    assert "Adriatic" in told.mental_models.refresh("b", model.id).text
    assert not told.mental_models.staleness("b", model.id)


def test_a_source_that_changed_or_went_makes_it_stale(told: Hindsight) -> None:
    [extra] = told.retain("b", "Ana sails at night.").ids
    model = from_query(told)
    first = next(source for source in model.sources if source != extra)
    told.memories.update("b", first, text="Ana sails on the Baltic in winter.")
    told.forget("b", extra)
    assert told.mental_models.staleness("b", model.id) == Staleness(changed=(first,), gone=(extra,))


def test_a_source_held_to_be_wrong_makes_it_stale(told: Hindsight) -> None:
    model = from_query(told)
    told.memories.invalidate("b", model.sources[0])
    assert told.mental_models.staleness("b", model.id).changed == model.sources


def test_when_all_it_rests_on_is_forgotten_so_is_its_text(told: Hindsight) -> None:
    model = from_query(told)
    told.forget("b", model.sources)
    refreshed = told.mental_models.refresh("b", model.id)
    assert refreshed.text == ""
    assert refreshed.sources == ()


@pytest.mark.parametrize("llm", [None, Script()])
def test_one_that_nothing_was_found_for_is_not_read_as_knowledge(
    memory: Hindsight, llm: Script | None
) -> None:
    memory.banks.create("b")
    model = from_query(memory, llm=llm)
    assert (model.text, model.sources) == ("", ())
    assert not memory.context("b", QUERY)
    assert memory.recall("b", QUERY, mental_model_tokens=500).mental_models == ()
    assert not memory.reflect("b", QUERY)
    memory.retain("b", "Ana sails on the Baltic in summer.")
    assert "Baltic" in memory.mental_models.refresh("b", model.id).text


def test_the_sentence_that_earlier_versions_stored_for_it_is_not_read_either(
    memory: Hindsight,
) -> None:
    memory.banks.create("b")
    memory.mental_models.create("b", "Ana", text="No relevant memories found.", source_query=QUERY)
    assert not memory.context("b", QUERY)


def test_what_is_forgotten_stands_in_no_mental_model_and_no_history_of_one(
    told: Hindsight,
) -> None:
    [secret] = told.retain("b", "Ana sails with a quokka.").ids
    model, deleted, moved = from_query(told), from_query(told), from_query(told)
    own = told.mental_models.create("b", "Ana", text="Ana has a quokka.")
    assert secret in model.sources
    assert "quokka" in model.text
    told.mental_models.update("b", model.id, name="Ana at sea")
    told.mental_models.delete("b", deleted.id)
    told.mental_models.update("b", moved.id, text="Ana sails.")
    told.forget("b", secret)
    left = told.mental_models.get("b", model.id)
    assert "quokka" not in left.text
    assert "Baltic" in left.text
    assert told.mental_models.staleness("b", model.id).gone == (secret,)
    assert told.mental_models.get("b", own.id) == own
    for each in (model, deleted, moved):
        assert told.mental_models.history("b", each.id) == []


def test_history_tells_what_it_was_and_why_also_after_it_is_gone(told: Hindsight) -> None:
    model = told.mental_models.create("b", "Ana", text="Ana is a sailor.")
    told.mental_models.update("b", model.id, text="Ana was a sailor.", reason="she retired")
    told.mental_models.update("b", model.id, name="Ana, retired", source_query=QUERY)
    told.mental_models.refresh("b", model.id)
    told.mental_models.delete("b", model.id)
    changes = told.mental_models.history("b", model.id)
    assert [(c.action, c.field) for c in changes] == [
        ("update", "text"),
        ("update", "name"),
        ("update", "source_query"),
        ("refresh", "text"),
        ("refresh", "sources"),
        ("delete", "text"),
    ]
    assert (changes[0].old, changes[0].new) == ("Ana is a sailor.", "Ana was a sailor.")
    assert changes[0].reason == "she retired"
    with pytest.raises(NotFoundError):
        told.mental_models.get("b", model.id)


def test_only_those_that_ask_for_it_and_are_stale_are_refreshed(told: Hindsight) -> None:
    asks, still = from_query(told, auto_refresh=True), from_query(told)
    bank = told.runtime.bank("b")
    assert refresh_due(parts(told), bank).models == ()
    told.retain("b", "Ana now sails on the Adriatic.")
    refreshed = refresh_due(parts(told), bank)
    assert [model.id for model in refreshed.models] == [asks.id]
    assert told.mental_models.get("b", still.id) == still
    assert refresh_due(parts(told), bank).models == ()


def test_a_refresh_that_changes_nothing_says_so_and_keeps_the_date(told: Hindsight) -> None:
    model = from_query(told)
    assert told.mental_models.refresh("b", model.id) == model
    assert told.mental_models.get("b", model.id).refreshed_at == model.refreshed_at
    [entry] = told.mental_models.history("b", model.id)
    assert (entry.action, entry.old, entry.new) == ("refresh", model.text, model.text)
    assert entry.reason == "nothing changed: the bank answers as before"


def test_what_newer_facts_contradict_is_stale_and_leaves_a_refreshed_text(
    memory: Hindsight,
) -> None:
    memory.retain("b", "Ana lives in Kiel.", timestamp=datetime(2025, 3, 1))
    model = memory.mental_models.create("b", "Ana's home", source_query="Where does Ana live?")
    own = memory.mental_models.create("b", "Ana", text="Ana is a sailor. Ana lives in Kiel.")
    [moved] = memory.retain("b", "Ana moved to Lisbon.", timestamp=datetime(2025, 4, 1)).ids
    for each in (model, own):
        assert memory.mental_models.staleness("b", each.id).contradicted == (moved,)
    items = {item.id: item for item in memory.context("b", "Where does Ana live?")}
    assert "a newer memory says otherwise" in items[model.id].text
    assert "a newer memory says otherwise" in items[own.id].text
    assert items[model.sources[0]].stale
    assert not items[moved].stale
    answer = memory.reflect("b", "Where does Ana live?")
    assert "Lisbon" in answer.text
    assert "Kiel" not in answer.text
    refreshed = memory.mental_models.refresh("b", model.id)
    assert "Lisbon" in refreshed.text
    assert "Kiel" not in refreshed.text
    assert refreshed.refreshed_at > model.refreshed_at
    assert not memory.mental_models.staleness("b", model.id)


def test_a_refresh_that_fails_changes_nothing_and_is_reported(told: Hindsight) -> None:
    model = from_query(told, auto_refresh=True)
    told.retain("b", "Ana now sails on the Adriatic.")
    with pytest.raises(ModelError):
        told.mental_models.refresh("b", model.id, llm=Script("no JSON"))
    runtime = told.runtime
    broken = MentalModelDependencies(runtime.recalling, runtime.lock, as_model(Script("no JSON")))
    [failure] = refresh_due(broken, told.runtime.bank("b")).failures
    assert isinstance(failure.error, ModelError)
    assert told.mental_models.get("b", model.id) == model


def test_an_edit_during_a_refresh_is_never_overwritten(told: Hindsight) -> None:
    model = from_query(told)

    def edits(system: str, user: str) -> dict[str, Any]:
        told.mental_models.update("b", model.id, text="The user's own words.")
        return answer("Something else.")

    with pytest.raises(ConflictError):
        told.mental_models.refresh("b", model.id, llm=Script(edits))
    assert told.mental_models.get("b", model.id).text == "The user's own words."


def test_consolidation_refreshes_those_that_ask_for_it(told: Hindsight) -> None:
    asks = from_query(told, auto_refresh=True)
    told.consolidate("b")
    assert told.mental_models.get("b", asks.id) == asks
    told.retain("b", "Ana now sails on the Adriatic.")
    told.consolidate("b")
    assert "Adriatic" in told.mental_models.get("b", asks.id).text


# Reading them


def test_a_context_reads_them_first_and_tells_which_are_stale(told: Hindsight) -> None:
    model = from_query(told)
    told.retain("b", "Ana now sails on the Adriatic.")
    found = told.context("b", QUERY)
    assert found.items[0].id == model.id
    assert found.items[0].section is Section.MENTAL_MODELS
    assert found.items[0].stale
    assert found.sources[0] == model.id


def test_only_those_on_the_matter_are_read_and_only_with_its_tags(told: Hindsight) -> None:
    told.mental_models.create("b", "Payroll", text="Salaries go out on the first.")
    told.mental_models.create("b", "Ana at sea", text="Ana sails.", tags=["sea"])
    read = [item.source for item in told.context("b", QUERY) if item.id.startswith("mm-")]
    assert [model.name for model in read if isinstance(model, MentalModel)] == ["Ana at sea"]
    told.retain("b", "Ana sails at noon.", tags=["land"])
    assert not any(i.id.startswith("mm-") for i in told.context("b", QUERY, tags=["land"]))
    assert not any(i.id.startswith("mm-") for i in told.context("b", QUERY, types=["world"]))


def test_lists_are_by_name_and_by_tag(told: Hindsight) -> None:
    for name, tags in (("Zoe", ["x"]), ("Ana", []), ("Max", ["x", "y"])):
        told.mental_models.create("b", name, text="A person.", tags=tags)
    assert [model.name for model in told.mental_models.list("b")] == ["Ana", "Max", "Zoe"]
    assert [model.name for model in told.mental_models.list("b", tags=["x"])] == ["Max", "Zoe"]


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"text": "  "},
        {"text": "x" * 20_001},
        {"source_query": " "},
        {"text": "x", "name": ""},
        {"text": "x", "max_tokens": 0},
        {"text": "x", "tags": "tag"},
        {"text": "x", "auto_refresh": True},
        {"source_query": "x", "llm": 5},
    ],
    ids=lambda given: ", ".join(given) or "nothing",
)
def test_arguments_are_refused_at_the_door(told: Hindsight, given: dict[str, Any]) -> None:
    with pytest.raises(InvalidInputError):
        told.mental_models.create("b", **{"name": "Ana", **given})
    assert told.mental_models.list("b") == []


def test_what_is_not_there_is_an_error(told: Hindsight) -> None:
    for call in (told.mental_models.get, told.mental_models.refresh, told.mental_models.delete):
        with pytest.raises(NotFoundError, match="no mental model 'mm-1'"):
            call("b", "mm-1")
    with pytest.raises(BankNotFoundError):
        told.mental_models.list("nowhere")


def test_a_text_of_ones_own_has_nothing_to_be_refreshed_from(told: Hindsight) -> None:
    model = told.mental_models.create("b", "Ana", text="Ana is a sailor.")
    with pytest.raises(InvalidInputError, match="written by hand"):
        told.mental_models.refresh("b", model.id)
