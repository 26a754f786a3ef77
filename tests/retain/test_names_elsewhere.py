"""Names in other languages than English: only what a capital or a table surely shows."""

from __future__ import annotations

import pytest

from hindsight_integrations import Hindsight, Settings
from hindsight_integrations.nlp.language import Capitals, capitals_elsewhere
from hindsight_integrations.retain.names_elsewhere import names_elsewhere


def names(text: str) -> list[str]:
    capitals = capitals_elsewhere(text)
    assert capitals is not None
    return [span.name for span in names_elsewhere(text, capitals)]


@pytest.mark.parametrize(
    ("text", "capitals"),
    [
        ("Der Zug nach Ulm fährt um halb sieben.", "nouns"),
        ("Ich habe heute mit dem Vermieter gesprochen.", "nouns"),
        ("Nous avons vendu la voiture à Lille.", "names"),
        ("Pues a mí me ha vuelto a dejar tirada.", "names"),
        ("Levei o carro na oficina; não está pronto.", "names"),
        ("Ik heb het boek nog niet gelezen.", "names"),
        ("Тимур сдал экзамен вчера.", "names"),
        ("今日から二年生になった。", "nothing"),
        ("اشتريت سيارة جديدة أمس", "nothing"),
    ],
)
def test_the_language_tells_what_capitals_mark(text: str, capitals: Capitals) -> None:
    assert capitals_elsewhere(text) == capitals


@pytest.mark.parametrize(
    "text",
    [
        "Thanks!",
        "",
        "Met Maria de la Cruz at La Paz airport.",
        "We ate at Café Crème near the Plaza del Sol, and it was good.",
        "Herr Müller said that we can move in on Friday.",
        "Los Angeles",
        "I die in the war, so he was on par.",
        "Order 12 crème brûlée for the table and a tea for me.",
        "no problem, 10 µl per sample",
    ],
)
def test_what_may_be_english_is_read_as_english(text: str) -> None:
    assert capitals_elsewhere(text) is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Damit darf der Lehrling den Stapler fahren, und die Ordnung stimmt.", []),
        ("Die Maße bleiben, sagt Frau Öztürk, und Paul ist auch dafür.", ["Frau Öztürk", "Paul"]),
        ("Der Umzug nach Berlin ist im Herbst, das Essen bringt mein Bruder.", ["Berlin"]),
        ("Ernst war das nicht, und Mark und Pfennig zahlt heute auch keiner mehr.", []),
        ("Je passe chez Thibault. Trop bien, on dîne avec M. Bertin.", ["Thibault", "M. Bertin"]),
        ("Ça va ? Elle est avec Louis et Samia à Lille.", ["Louis", "Samia", "Lille"]),
        ("L'assurance est chez Crédit Mutuel, et c'est d'Inès.", ["Crédit Mutuel", "Inès"]),
        ("Luego Nuria me dijo que la cuna está en Getafe.", ["Nuria", "Getafe"]),
        ("¿Qué hace Hugo? Después de Llanes ya está aquí.", ["Hugo", "Llanes"]),
        ("QUÉ ALEGRÍA, ya está aquí mi hermana.", []),
        ("Дежурят Тимур и Аня, а Юля в Твери.", ["Тимур", "Аня", "Юля", "Твери"]),
        ("今日は大野さんと会った。", []),
    ],
)
def test_a_name_is_what_its_capital_surely_shows(text: str, expected: list[str]) -> None:
    assert names(text) == expected


def test_a_bank_in_german_has_its_people_and_no_nouns() -> None:
    with Hindsight.in_memory(settings=Settings(consolidate=False)) as memory:
        memory.retain_many(
            "werkstatt",
            [
                "Tarek hat den Staplerschein bestanden. Damit darf außer mir noch jemand fahren.",
                "Frau Hartwig will zwölf Bänke, und zwar bis zum Ende der Ferien.",
                "Der Anhänger ist beim Händler, die Reparatur kostet 300 Euro.",
                "Unser Kastenwagen hat im Frost nicht gestartet, ich brauche eine Batterie.",
            ],
        )
        kinds = {entity.name: entity.kind for entity in memory.entities.list("werkstatt")}
    assert kinds == {"Tarek": "person", "Frau Hartwig": "person"}


def test_long_text_is_read_in_linear_time() -> None:
    text = "Je vois Anna et " * 15_000
    assert len(list(names_elsewhere(text, "names"))) == 15_000
    assert list(names_elsewhere("Frau " * 40_000, "nouns")) == []
    assert list(names_elsewhere("d'" * 100_000, "names")) == []
