"""A surname, a title or a kin sentence joins nobody by itself; what is sure is joined still."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

import pytest

from hindsight_integrations import Hindsight
from hindsight_integrations.models import Bank
from hindsight_integrations.nlp.name_matching import SAME, Gate, compare, gender_of
from hindsight_integrations.retain.entity_resolution import Resolution, Resolver
from hindsight_integrations.retain.extraction import Mention
from hindsight_integrations.retain.stated_names import aliases_stated, names_denied
from hindsight_integrations.stores.sqlite.graph import SqliteGraph
from hindsight_integrations.stores.testing.samples import EMBEDDER

NOW = datetime(2024, 3, 1, tzinfo=UTC)


def resolved(*facts: tuple[str, Sequence[str]]) -> Resolution:
    """Resolve texts, each with the persons it names, in one batch of an empty bank."""
    store = SqliteGraph(None)
    store.create_bank(Bank("b"), EMBEDDER)
    mentions = [[Mention(name, "person") for name in names] for _, names in facts]
    texts = [text for text, _ in facts]
    resolution = Resolver(store, "b").resolve(mentions, [NOW] * len(facts), texts)
    store.close()
    return resolution


def meant(*facts: tuple[str, Sequence[str]]) -> str:
    """Return the entity of the last name of the last text."""
    return resolved(*facts).decisions[-1].entity_name


MARGARET = ("Margaret Firth runs the depot.", ["Margaret Firth"])
TAKUMI = ("Zorel Firth runs the depot.", ["Zorel Firth"])


@pytest.mark.parametrize(
    "facts",
    [
        (MARGARET, ("Mrs Firth signed the lease.", ["Mrs Firth"])),
        (MARGARET, ("Miss Firth signed the lease.", ["Miss Firth"])),
        (MARGARET, ("Met Firth at noon.", ["Firth"])),
        (MARGARET, ("Yesterday Firth paid the toll.", ["Firth"])),
        (MARGARET, ("Captain Firth paid the toll.", ["Captain Firth"])),
    ],
)
def test_the_one_bearer_of_a_surname_is_meant(
    facts: tuple[tuple[str, Sequence[str]], ...],
) -> None:
    assert meant(*facts) == "Margaret Firth"


@pytest.mark.parametrize(
    "facts",
    [
        (MARGARET, ("Mr Firth signed the lease.", ["Mr Firth"])),
        (TAKUMI, ("Mr Firth signed the lease.", ["Mr Firth"])),
        (TAKUMI, ("Mrs Firth signed the lease.", ["Mrs Firth"])),
        (MARGARET, ("Mr Firth left.", ["Mr Firth"]), ("Mrs Firth stayed.", ["Mrs Firth"])),
        (MARGARET, ("Mrs Firth spoke of her sister.", ["Mrs Firth"])),
    ],
)
def test_a_title_joins_only_a_name_known_to_agree(
    facts: tuple[tuple[str, Sequence[str]], ...],
) -> None:
    assert meant(*facts) == facts[-1][1][-1]


@pytest.mark.parametrize(
    ("titled", "other"),
    [
        ("Mrs Klein", "Dr. Klein"),
        ("Mr Klein", "Prof. Klein"),
        ("Captain Firth", "Mr Firth"),
        ("Aunt Rose", "Grandma Rose"),
        ("Dr. Klein", "Judge Klein"),
        ("Mr Klein", "Frau Klein"),
        ("Mrs Klein", "Miss Klein"),
    ],
)
def test_a_surname_with_two_titles_is_two_people(
    memory: Hindsight, titled: str, other: str
) -> None:
    memory.retain("b", f"{titled} lent me sugar.")
    assert memory.retain("b", f"{other} saw me on Monday.").joined == ()
    known = {entity.name for entity in memory.entities.list("b").items}
    assert known == {titled, other}


@pytest.mark.parametrize(
    ("titled", "other"),
    [
        ("Dr. Klein", "Doctor Klein"),
        ("Herr Klein", "Mr Klein"),
        ("Mrs Klein", "Ms Klein"),
        ("Mrs Klein", "Klein"),
        ("Anna Klein", "Mrs Klein"),
        ("Dr. Anna Klein", "Mrs Anna Klein"),
    ],
)
def test_titles_that_may_be_one_persons_join(titled: str, other: str) -> None:
    assert meant((f"{titled} came.", [titled]), (f"{other} left.", [other])) == titled


def test_a_bare_surname_does_not_hide_the_title_it_goes_with() -> None:
    mrs = ("Mrs Klein came.", ["Mrs Klein"])
    bare = ("Klein left early.", ["Klein"])
    assert meant(mrs, bare) == "Mrs Klein"
    assert meant(mrs, bare, ("Mr Klein stayed.", ["Mr Klein"])) == "Mr Klein"
    assert meant(mrs, ("Dr. Klein stayed.", ["Dr. Klein"]), bare) == "Klein"


def test_a_title_and_a_full_name_in_one_sentence_are_two() -> None:
    text = "Mrs Firth drove Margaret Firth to the clinic."
    assert meant((text, ["Margaret Firth", "Mrs Firth"])) == "Mrs Firth"


@pytest.mark.parametrize(
    "text",
    [
        "We ate at the Firth.",
        "A Firth never pays.",
        "We met behind Firth's, it rained.",
        "The bus stops at Firth now.",
        "In the army they called him Firth.",
        "The name, Firth, is on the door.",
        "On Monday Dougal Firth came.",
    ],
)
def test_a_surname_used_otherwise_is_no_short_form(text: str) -> None:
    assert meant(MARGARET, (text, ["Firth"])) == "Firth"


def test_who_bears_the_surname_later_in_the_batch_counts() -> None:
    later = ("Then Edwin Firth took over.", ["Edwin Firth"])
    found = resolved(MARGARET, ("Met Firth at noon.", ["Firth"]), later)
    assert found.decisions[1].entity_name == "Firth"
    assert ("Margaret Firth", Gate.FAMILY) in found.decisions[1].rejected


def test_a_speaker_is_not_called_by_the_surname_in_his_own_words() -> None:
    assert meant(("In the village Firth was a rich man.", ["Margaret Firth", "Firth"])) == "Firth"


def test_a_bare_surname_beside_mr_and_mrs_is_neither() -> None:
    mrs = ("Mrs Amsel teaches the piano.", ["Mrs Amsel"])
    assert meant(mrs, ("Amsel was ill.", ["Amsel"])) == "Mrs Amsel"
    son = ("Yoram Amsel is six.", ["Yoram Amsel"])
    assert meant(mrs, son, ("Amsel was ill.", ["Amsel"])) == "Amsel"


def test_a_relative_of_a_like_name_is_another() -> None:
    ruth = ("Pat Okoro plays the harp.", ["Pat Okoro"])
    wife = ("Patricia Okoro, his wife, sings.", ["Patricia Okoro"])
    assert meant(ruth, wife) == "Patricia Okoro"
    assert meant(ruth, ("Patricia Okoro sings.", ["Patricia Okoro"])) == "Pat Okoro"
    mother = ("Olga Brandt and her mother Olga skate.", ["Olga Brandt", "Olga"])
    assert meant(mother, ("Olga fell.", ["Olga"])) == "Olga"


def test_whom_the_text_tells_apart_is_not_joined() -> None:
    aunt = ("Aunt Peg Lowry knits.", ["Aunt Peg Lowry"])
    text = "Margaret Lowry sued us. She is not my aunt Peg."
    assert meant(aunt, (text, ["Peg", "Margaret Lowry"])) == "Margaret Lowry"


def test_a_nickname_stated_for_one_is_not_anothers() -> None:
    stated = ("Benedict Rao, known as Ben, is not Ben Hill.", ["Benedict Rao", "Ben", "Ben Hill"])
    plays = ("Ben Hill plays chess.", ["Ben Hill"])
    assert meant(stated, plays, ("Ben was late.", ["Ben"])) == "Benedict Rao"


def test_what_is_said_of_names_is_read() -> None:
    called = [Mention("Ida Moe", "person"), Mention("Bee")]
    assert aliases_stated("Ida Moe, known as Bee, came.", called) == [("Bee", "Ida Moe")]
    assert list(names_denied("He is not my uncle Bob.", ["Bob", "Robert"])) == ["Bob"]
    assert list(names_denied("It isn't Ann Lee.", ["Ann", "Ann Lee"])) == ["Ann Lee"]
    assert list(names_denied("Rob Hale rang, not Robert.", ["Rob Hale", "Robert"])) == ["Robert"]
    assert list(names_denied("He is not Bob's uncle, but Bob came.", ["Bob"])) == []


@pytest.mark.parametrize(
    ("one", "other"), [("MS Arden", "Arden"), ("Kantos", "Kanto S"), ("Mother", "Mother Agnes")]
)
def test_a_ship_a_model_code_and_a_calling_are_no_spellings(one: str, other: str) -> None:
    assert isinstance(compare(one, "concept", other, "concept"), Gate)
    assert isinstance(compare(other, "person", one, "person"), Gate) or one == "MS Arden"


def test_a_title_in_capitals_or_not_is_a_title() -> None:
    assert compare("Ms Arden", "person", "Arden", "person") is SAME
    assert compare("MS ARDEN", "person", "Arden", "person") is SAME


def test_genders_are_told_only_of_names_that_one_has() -> None:
    assert [gender_of(name) for name in ("bob", "maria", "chris", "robin", "zorel")] == [
        "man",
        "woman",
        "",
        "",
        "",
    ]


def test_a_name_equal_but_for_a_title_is_reported_once(memory: Hindsight) -> None:
    memory.retain("b", "Mrs. Petrova sent the floor plans.")
    first = memory.retain("b", "Then Petrova called again.")
    assert [(one.name, one.entity) for one in first.joined] == [("Petrova", "Mrs. Petrova")]
    assert "title" in first.joined[0].reason
    assert memory.retain("b", "On Friday Petrova phoned.").joined == ()


def test_a_family_is_not_suggested_as_one(memory: Hindsight) -> None:
    texts = ["Ian Storey fishes.", "Hugh Storey mends nets.", "Last year Storey sank."]
    memory.retain_many("b", texts)
    suggested = [{s.source.name, s.target.name} for s in memory.entities.suggest_merges("b")]
    assert not any("Storey" in pair for pair in suggested)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("She sails from Ghent to Delft by barge.", {"Ghent", "Delft"}),
        ("We moved from Trello to Asana for tickets.", {"Trello", "Asana"}),
        ("We taught Hanna K. She is from Hull, they say.", {"Hanna K", "Hull"}),
    ],
)
def test_a_name_ends_where_the_sentence_goes_on(
    memory: Hindsight, text: str, names: set[str]
) -> None:
    (stored,) = memory.retain("b", text).ids
    assert set(memory.memories.get("b", stored).entities) == names


def test_ships_and_houses_are_no_persons(memory: Hindsight) -> None:
    memory.retain("b", "Aboard the MS Hedwig we drank tea. Then we slept at Hotel Krone.")
    kinds = {one.name: one.kind for one in memory.entities.list("b").items}
    assert kinds == {"MS Hedwig": "product", "Hotel Krone": "place"}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("I have rung Castle Heating.", {"Castle Heating": "concept"}),
        ("We met at Castle Howard.", {"Castle Howard": "place"}),
        ("He is on PIP and UC now.", {"PIP": "concept", "UC": "concept"}),
        ("The Rev B layout is done.", {"Rev B": "concept"}),
        ("Mrs Pereira rang, she is not sleeping.", {"Mrs Pereira": "person"}),
        ("Dom has food poisoning.", {"Dom": "person"}),
        ("The DOM is too deep.", {}),
        ("His daughter Pauline is down.", {"Pauline": "person"}),
        (
            "Left at ten from Rossio, Pena Palace by noon.",
            {"Rossio": "concept", "Pena Palace": "place"},
        ),
        ("The ripple is 31 mV with 22u, x3 bulbs at 300/mo.", {}),
        ("The liability was DENIED by them.", {}),
        ("He can do it on Weds.", {}),
        ("We ordered Xpelair £44 today.", {"Xpelair": "concept"}),
    ],
)
def test_names_and_kinds_of_everyday_notes(
    memory: Hindsight, text: str, expected: dict[str, str]
) -> None:
    memory.retain("b", text)
    assert {one.name: one.kind for one in memory.entities.list("b").items} == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "Agenda\n\n1. Money\nPledges stand at 66,000.\n\n2. Hens\nMs Selbert has a broody one.",
            {"Ms Selbert": "person"},
        ),
        (
            "1. Choose a bike in the app\n2) Enter the last figures\n3. Marek signs it.",
            {"Marek": "person"},
        ),
        ("4.2 Descaling the boiler", {}),
        ("1. Kestrel Yard will be closed in May.", {"Kestrel Yard": "concept"}),
        ("3 Kestrels nest there.", {"Kestrels": "concept"}),
        ("It is COLD, and the queue is WORSE.", {}),
        ("The log says ERROR, the COPY command failed.", {}),
        ("Tested at NASA and at SAP.", {"NASA": "concept", "SAP": "concept"}),
        ("Write to help@ferry.example.", {"help@ferry.example": "concept"}),
        ("Write to ann.b@ferry.example.", {"ann.b@ferry.example": "person"}),
        ("git clone git@forge.example:app", {"git@forge.example": "concept"}),
        (
            "curl -d @bulk.json works, @bexgrow says",
            {"@bulk.json": "concept", "@bexgrow": "person"},
        ),
    ],
)
def test_names_in_lists_logs_and_commands(
    memory: Hindsight, text: str, expected: dict[str, str]
) -> None:
    memory.retain("b", text)
    assert {one.name: one.kind for one in memory.entities.list("b").items} == expected


@pytest.mark.parametrize(
    "texts",
    [
        ("Mrs Dvorak lent us a ladder.", "Helena Dvorak rang about the key."),
        ("Mr Sandhu wants an invoice.", "Ranjit Sandhu paid today."),
        (
            "Dr Abiola changed the tablets.",
            "Saw Abiola on the ward.",
            "Funmi Abiola has the results.",
        ),
        ("Mrs Olsen is away.", "Mr Sandhu wants an invoice.", "Ranjit Sandhu paid today."),
    ],
)
def test_a_full_name_completes_a_title_with_a_surname(
    memory: Hindsight, texts: tuple[str, ...]
) -> None:
    for text in texts:
        memory.retain("b", text)
    surnames = [entity.name.rpartition(" ")[2] for entity in memory.entities.list("b").items]
    assert len(surnames) == len(set(surnames))


@pytest.mark.parametrize(
    "texts",
    [
        ("Mrs Sandhu lent us a ladder.", "Ranjit Sandhu paid today."),
        ("Mr Sandhu wants an invoice.", "Zorel Sandhu paid today."),
        ("Mr Sandhu wants an invoice.", "Mrs Sandhu rang.", "Ranjit Sandhu paid today."),
        ("Mr Sandhu and Ranjit Sandhu came to tea.",),
        ("Uncle Ranjit wants an invoice.", "Sunil Ranjit paid today."),
        ("Mr Sandhu wants an invoice.", "His son Ranjit Sandhu paid today."),
    ],
)
def test_a_full_name_that_may_be_a_relatives_completes_nothing(
    memory: Hindsight, texts: tuple[str, ...]
) -> None:
    for text in texts:
        memory.retain("b", text)
    names = [(entity.name, *entity.aliases) for entity in memory.entities.list("b").items]
    assert len(names) > 1
    assert all(len(one) == 1 for one in names)


def test_a_stranger_with_a_title_does_not_part_a_surname_from_its_full_name(
    memory: Hindsight,
) -> None:
    memory.retain("b", "Mrs Olsen cannot print labels.")
    memory.retain("b", "Ranjit Sandhu gets each invoice twice.")
    (joined,) = memory.retain("b", "Told Mr Sandhu to print one at a time.").joined
    assert (joined.name, joined.entity) == ("Mr Sandhu", "Ranjit Sandhu")


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("Mulch lifted the beds a little.", set()),
        ("Password had a space at the end.", set()),
        ("Wheelchair delivered.", set()),
        ("Broadband went down twice today.", set()),
        ("Hetzner confirmed a fault.", {"Hetzner"}),
        ("Rosie has a fever.", {"Rosie"}),
    ],
)
def test_a_common_noun_that_begins_a_note_is_no_name(
    memory: Hindsight, text: str, names: set[str]
) -> None:
    memory.retain("b", text)
    assert {one.name for one in memory.entities.list("b").items} == names


def test_a_common_noun_that_the_bank_knows_as_a_name_begins_a_note(memory: Hindsight) -> None:
    memory.retain("b", "We host the docs with Garlic in Reading.")
    (stored,) = memory.retain("b", "Garlic had an outage.").ids
    assert memory.memories.get("b", stored).entities == ("Garlic",)
