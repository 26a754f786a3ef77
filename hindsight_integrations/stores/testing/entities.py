"""Contract of entities: identity, names, counts, corrections."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hindsight_integrations.errors import ConflictError, EntityNotFoundError, InvalidInputError
from hindsight_integrations.models import Entity
from hindsight_integrations.stores.base import (
    COMPANIONS,
    COOCCURRENCES,
    ENTITY,
    ENTITY_NAMED,
    MEMORY,
    MENTIONS,
    ChangeSet,
    EntityMerge,
    EntityNames,
    EntityRemoval,
    EntitySplit,
    GraphStore,
)
from hindsight_integrations.stores.testing.samples import VALID, ago, changed, entity, keep, record


def names(graph: GraphStore, *wanted: str) -> dict[str, str]:
    return {norm: each.id for norm, each in graph.read("b", ENTITY_NAMED, wanted).items()}


def similar(graph: GraphStore, name: str, limit: int) -> list[Entity]:
    return graph.similar_entities("b", [name], limit)[name]


class EntityContract:
    """Tests of entities, their names and their counts."""

    def test_an_entity_comes_back_with_its_names(self, graph: GraphStore) -> None:
        given = replace(entity("Robert Smith", "Bob", "Café Bob’s"), kind="person")
        keep(graph, entities=(given,))
        assert graph.read("b", ENTITY, ["absent", given.id]) == {given.id: given}
        assert names(graph, "BOB", "cafe bob", "Robert", "robert  smith") == {
            "bob": given.id,
            "cafe bob": given.id,
            "robert smith": given.id,
        }

    def test_a_known_name_is_the_known_entity(self, graph: GraphStore) -> None:
        keep(graph, record("m1", entities=("Robert",)), entities=(entity("Robert", "Bob"),))
        again = replace(record("m2", entities=("bob", "Ann")), entity_ids=("new-1", "new-2"))
        graph.apply(
            ChangeSet(
                "b",
                entities=(entity("bob", "Bobby", id="new-1"), entity("Ann", id="new-2")),
                memories=(again,),
            )
        )
        assert graph.read("b", MEMORY, ["m2"])["m2"].entities == ("Robert", "Ann")
        assert graph.read("b", MENTIONS, ["m2"]) == {"m2": ("e:robert", "new-2")}
        assert names(graph, "Bobby", "Bob", "Robert") == dict.fromkeys(
            ("bobby", "bob", "robert"), "e:robert"
        )
        assert graph.read("b", ENTITY, ["new-1"]) == {}

    def test_two_spellings_in_one_change_set_are_one_entity(self, graph: GraphStore) -> None:
        given = replace(record("m", entities=("Zoë", "ZOE")), entity_ids=("z1", "z2"))
        graph.apply(
            ChangeSet(
                "b", entities=(entity("Zoë", id="z1"), entity("ZOE", id="z2")), memories=(given,)
            )
        )
        assert graph.read("b", MENTIONS, ["m"]) == {"m": ("z1",)}
        assert graph.read("b", MEMORY, ["m"])["m"].entities == ("Zoë",)

    def test_marks_that_tell_words_apart_tell_names_apart(self, graph: GraphStore) -> None:
        given = ("राम", "रोम", "ガガ", "カカ", "กิต", "กุ้ต")
        keep(graph, record("m", entities=given))
        for name in given:
            assert names(graph, name) == {name: f"e:{name}"}
        assert names(graph, "ｶﾞｶﾞ") == {"ガガ": "e:ガガ"}
        assert [one.name for one in graph.similar_entities("b", ["राम"], 1)["राम"]] == ["राम"]

    def test_an_alias_of_another_entity_is_not_taken_from_it(self, graph: GraphStore) -> None:
        keep(graph, entities=(entity("Ann", "Annie"), entity("Bea")))
        keep(graph, entities=(entity("Bea", "Annie", "Beatrice"),))
        assert names(graph, "Annie", "Beatrice") == {"annie": "e:ann", "beatrice": "e:bea"}

    def test_an_entity_is_counted_and_dated_by_its_mentions(self, graph: GraphStore) -> None:
        memories = [
            record(f"m{n}", mentioned_at=ago(n), entities=("Alice",) if n else ("Alice", "Bob"))
            for n in range(3)
        ]
        keep(graph, *memories, entities=(replace(entity("Alice"), mention_count=99),))
        alice = graph.read("b", ENTITY, ["e:alice"])["e:alice"]
        assert (alice.mention_count, alice.first_seen, alice.last_seen) == (3, ago(2), ago(0))
        keep(graph, remove_memories=("m2",), replaced=(changed(memories[0], mentioned_at=ago(5)),))
        alice, bob = graph.read("b", ENTITY, ["e:alice", "e:bob"]).values()
        assert (alice.mention_count, alice.first_seen, alice.last_seen) == (2, ago(5), ago(1))
        assert (bob.mention_count, bob.first_seen, bob.last_seen) == (1, ago(5), ago(5))

    def test_an_entity_goes_with_its_last_mention_and_leaves_its_name_free(
        self, graph: GraphStore
    ) -> None:
        keep(graph, record("m", entities=("Alice",)))
        keep(graph, remove_memories=("m",))
        assert names(graph, "Alice") == {}
        assert similar(graph, "Alice", 5) == []
        assert graph.list_entities("b", limit=5).total == 0
        keep(graph, record("n", entities=("Alice",)))
        assert graph.read("b", ENTITY, ["e:alice"])["e:alice"].mention_count == 1

    def test_an_entity_with_aliases_of_the_user_stays(self, graph: GraphStore) -> None:
        keep(graph, record("m", entities=("Alice",)))
        graph.apply(ChangeSet("b", entity_edits=(EntityNames("e:alice", "Alice", ("Al",)),)))
        keep(graph, remove_memories=("m",))
        alice = graph.read("b", ENTITY, ["e:alice"])["e:alice"]
        assert (alice.aliases, alice.mention_count, alice.first_seen) == (("Al",), 0, None)

    def test_what_is_mentioned_together_is_counted(self, graph: GraphStore) -> None:
        keep(
            graph,
            record("1", entities=("Alice", "Bob", "Cid")),
            record("2", entities=("Bob", "Alice")),
            record("3", entities=("Alice",)),
        )
        assert graph.read("b", COOCCURRENCES, ["e:alice", "absent", "e:cid"]) == {
            "e:alice": {"e:bob": 2, "e:cid": 1},
            "e:cid": {"e:alice": 1, "e:bob": 1},
        }
        assert list(graph.read("b", COOCCURRENCES, ["e:cid"])["e:cid"]) == ["e:alice", "e:bob"]
        keep(graph, record("4", entities=("Alice", "Dan", "Eve")))
        assert graph.read("b", COMPANIONS, ["e:alice", "absent", "e:cid", "e:eve"]) == {
            "e:alice": ("Bob", "Cid", "Dan"),
            "e:cid": ("Alice", "Bob"),
            "e:eve": ("Alice", "Dan"),
        }
        asked = ["e:cid", "absent", "e:alice"]
        together = graph.mentioned_together("b", asked, ["e:bob", "e:cid", "e:dan", "absent"])
        assert together == {"e:cid": {"e:bob"}, "e:alice": {"e:bob", "e:cid", "e:dan"}}
        assert list(together) == ["e:cid", "e:alice"]
        assert graph.mentioned_together("b", ["e:bob"], []) == {"e:bob": set()}
        assert graph.mentioned_together("b", [], ["e:bob"]) == {}
        keep(graph, remove_memories=("1", "4"))
        left = graph.mentioned_together("b", ["e:alice"], ["e:bob", "e:dan"])
        assert left == {"e:alice": {"e:bob"}}
        assert graph.read("b", COOCCURRENCES, ["e:alice"]) == {"e:alice": {"e:bob": 1}}
        assert graph.read("b", COMPANIONS, ["e:alice"]) == {"e:alice": ("Bob",)}

    def test_entities_are_listed_most_mentioned_first(self, graph: GraphStore) -> None:
        wanted = [f"P{n:02}" for n in range(12)]
        keep(
            graph,
            *(record(f"m{n}", entities=tuple(wanted[: 12 - n])) for n in range(5)),
            entities=(entity("Aa"), entity("Zz")),
        )
        seen: list[str] = []
        cursor: str | None = None
        while True:
            page = graph.list_entities("b", limit=5, cursor=cursor)
            assert page.total == 14
            seen += [each.name for each in page.items]
            if (cursor := page.next_cursor) is None:
                break
        assert seen == [*wanted, "Aa", "Zz"]

    def test_similar_names_are_found_likeliest_first(self, graph: GraphStore) -> None:
        people = ("Alice Smith", "Alicia Smythe", "Bob Smith", "Zed", "Alison", "東京")
        keep(graph, entities=tuple(map(entity, people)))
        found = [each.name for each in similar(graph, "Alice Smit", 9)]
        assert found[0] == "Alice Smith"
        assert "Zed" not in found
        smiths = [each.name for each in similar(graph, "Smith", 9)]
        assert smiths[:2] == ["Bob Smith", "Alice Smith"]
        assert [each.name for each in similar(graph, "alise smth", 1)] == ["Alice Smith"]
        assert [each.name for each in similar(graph, "東京", 5)] == ["東京"]
        assert similar(graph, "qqq", 5) == []
        assert similar(graph, "Alice", 0) == []
        asked = ("Alice Smit", "qqq", "東京")
        together = graph.similar_entities("b", asked, 9)
        assert together == {name: similar(graph, name, 9) for name in asked}
        assert graph.similar_entities("b", [], 9) == {}

    def test_an_alias_finds_its_entity_once(self, graph: GraphStore) -> None:
        keep(graph, entities=(entity("Robert", "Bobby", "Bobbie"),))
        assert [each.name for each in similar(graph, "Bobbi", 5)] == ["Robert"]

    def test_merging_makes_one_of_two(self, graph: GraphStore) -> None:
        keep(
            graph,
            record("1", entities=("Bob", "Ann")),
            record("2", entities=("Robert", "Bob")),
            record("3", entities=("Robert",), mentioned_at=ago(9)),
            entities=(entity("Bob", "Bobby"),),
        )
        graph.apply(ChangeSet("b", entity_edits=(EntityMerge("e:bob", "e:robert"),)))
        robert = graph.read("b", ENTITY, ["e:robert", "e:bob"])
        assert list(robert) == ["e:robert"]
        merged = robert["e:robert"]
        assert (merged.name, merged.aliases) == ("Robert", ("Bob", "Bobby"))
        assert (merged.mention_count, merged.first_seen) == (3, ago(9))
        assert names(graph, "Bobby") == {"bobby": "e:robert"}
        assert graph.read("b", MENTIONS, ["1", "2"]) == {
            "1": ("e:robert", "e:ann"),
            "2": ("e:robert",),
        }
        assert graph.read("b", MEMORY, ["1"])["1"].entities == ("Robert", "Ann")
        assert graph.read("b", COOCCURRENCES, ["e:robert", "e:ann"]) == {
            "e:robert": {"e:ann": 1},
            "e:ann": {"e:robert": 1},
        }
        assert graph.check(repair=False) == []

    def test_splitting_makes_two_of_one(self, graph: GraphStore) -> None:
        keep(
            graph,
            record("1", entities=("John", "Ann")),
            record("2", entities=("John",), mentioned_at=ago(3)),
            entities=(entity("John", "Johnny", "J. Doe"),),
        )
        new = entity("John Doe", "J. Doe", id="doe")
        graph.apply(ChangeSet("b", entity_edits=(EntitySplit("e:john", new, ("1", "absent")),)))
        doe, john = graph.read("b", ENTITY, ["doe", "e:john"]).values()
        assert (doe.name, doe.aliases, doe.mention_count) == ("John Doe", ("J. Doe",), 1)
        assert (john.name, john.aliases, john.mention_count) == ("John", ("Johnny",), 1)
        assert (john.first_seen, john.last_seen) == (ago(3), ago(3))
        assert graph.read("b", MENTIONS, ["1", "2"]) == {"1": ("doe", "e:ann"), "2": ("e:john",)}
        assert graph.read("b", COOCCURRENCES, ["e:john", "doe"]) == {
            "e:john": {},
            "doe": {"e:ann": 1},
        }
        assert graph.check(repair=False) == []

    def test_a_removed_entity_is_mentioned_no_more(self, graph: GraphStore) -> None:
        keep(
            graph,
            record("1", entities=("Ann", "Bob", "Cleo")),
            record("2", entities=("Bob",), mentioned_at=ago(3)),
            entities=(entity("Bob", "Bobby"),),
        )
        graph.apply(ChangeSet("b", entity_edits=(EntityNames("e:bob", "Bob", ("Bobby",)),)))
        graph.apply(ChangeSet("b", entity_edits=(EntityRemoval("e:bob"),)))
        assert names(graph, "Bob", "Bobby") == {}
        assert graph.read("b", ENTITY, ["e:bob"]) == {}
        assert graph.read("b", MENTIONS, ["1"]) == {"1": ("e:ann", "e:cleo")}
        assert graph.read("b", MEMORY, ["2"])["2"].entities == ()
        assert graph.read("b", COOCCURRENCES, ["e:ann"]) == {"e:ann": {"e:cleo": 1}}
        assert graph.read("b", ENTITY, ["e:ann"])["e:ann"].mention_count == 1
        with pytest.raises(EntityNotFoundError):
            graph.apply(ChangeSet("b", entity_edits=(EntityRemoval("e:bob"),)))
        keep(graph, record("3", entities=("Bob",)))
        assert names(graph, "Bob") == {"bob": "e:bob"}
        assert graph.check(repair=False) == []

    def test_renaming_sets_all_names(self, graph: GraphStore) -> None:
        keep(graph, record("m", entities=("Jon",)), entities=(entity("Jon", "Jonny"),))
        graph.apply(ChangeSet("b", entity_edits=(EntityNames("e:jon", "John", ("Jon", "JOHN")),)))
        john = graph.read("b", ENTITY, ["e:jon"])["e:jon"]
        assert (john.name, john.aliases) == ("John", ("Jon",))
        assert names(graph, "Jonny") == {}
        assert graph.read("b", MEMORY, ["m"])["m"].entities == ("John",)
        assert [e.name for e in similar(graph, "Jonny", 5)] == ["John"]

    def test_a_change_set_can_rename_what_it_mentions(self, graph: GraphStore) -> None:
        keep(graph, record("1", entities=("Jon",)), entities=(entity("Ann"),))
        given = replace(record("2", entities=("Jon",)), entity_ids=("new",))
        graph.apply(
            ChangeSet(
                "b",
                entities=(entity("JON", id="new"),),
                names=(EntityNames("new", "Jon Doe", ("Jon",)),),
                memories=(given,),
            )
        )
        assert names(graph, "Jon", "Jon Doe") == {"jon": "e:jon", "jon doe": "e:jon"}
        assert graph.read("b", MEMORY, ["1"])["1"].entities == ("Jon Doe",)
        for wrong, error in (
            (EntityNames("absent", "X", ()), EntityNotFoundError),
            (EntityNames("e:jon", "Ann", ()), ConflictError),
        ):
            with pytest.raises(error):
                graph.apply(ChangeSet("b", names=(wrong,), memories=(record("3"),)))
        assert graph.read("b", MEMORY, ["3"]) == {}
        keep(graph, remove_memories=("1", "2"))
        assert names(graph, "Jon") == {}, "no user gave it those names"

    def test_a_change_set_can_change_the_kind_of_an_entity(self, graph: GraphStore) -> None:
        keep(graph, record("1", entities=("Jon", "Ann")))
        given = replace(record("2", entities=("Jon",)), entity_ids=("new",))
        graph.apply(
            ChangeSet(
                "b",
                entities=(entity("JON", id="new"),),
                kinds=(("new", "place"),),
                memories=(given,),
            )
        )
        stored = graph.read("b", ENTITY, ["e:jon", "e:ann"])
        assert {id: each.kind for id, each in stored.items()} == {
            "e:jon": "place",
            "e:ann": "person",
        }
        assert (stored["e:jon"].name, stored["e:jon"].mention_count) == ("Jon", 2)
        with pytest.raises(EntityNotFoundError):
            graph.apply(ChangeSet("b", kinds=(("absent", "place"),), memories=(record("3"),)))
        assert graph.read("b", MEMORY, ["3"]) == {}

    def test_an_edit_that_cannot_be_is_refused_and_changes_nothing(self, graph: GraphStore) -> None:
        keep(graph, record("m", entities=("Ann", "Bob")))
        before = graph.read("b", ENTITY, ["e:ann", "e:bob"])
        for edit, error in (
            (EntityMerge("e:ann", "e:ann"), InvalidInputError),
            (EntityMerge("e:ann", "absent"), EntityNotFoundError),
            (EntityMerge("absent", "e:ann"), EntityNotFoundError),
            (EntityNames("absent", "X", ()), EntityNotFoundError),
            (EntityNames("e:ann", "Ann", ("BOB",)), ConflictError),
            (EntitySplit("absent", entity("X"), ("m",)), EntityNotFoundError),
            (EntitySplit("e:ann", entity("Bob", id="x"), ("m",)), ConflictError),
            (EntitySplit("e:ann", entity("X", id="e:bob"), ("m",)), ConflictError),
            (EntitySplit("e:ann", entity("Ann", id="x"), ("m",)), ConflictError),
        ):
            with pytest.raises(error):
                graph.apply(ChangeSet("b", entity_edits=(edit,)))
            assert graph.read("b", ENTITY, ["e:ann", "e:bob", "x", "e:x"]) == before
        assert graph.read("b", MENTIONS, ["m"]) == {"m": ("e:ann", "e:bob")}

    def test_names_are_each_banks_own(self, graph: GraphStore, other_bank: str) -> None:
        keep(graph, record("m", entities=("Ann",)))
        keep(graph, record("m", bank_id=other_bank, entities=("Bob",)))
        assert graph.read(other_bank, ENTITY_NAMED, ["Ann"]) == {}
        assert names(graph, "Ann", "Bob") == {"ann": "e:ann"}
        assert graph.postings(other_bank, ["e:ann"], 5, VALID) == []
