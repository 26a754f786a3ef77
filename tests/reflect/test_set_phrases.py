"""Judgements in set phrases and figures of speech, and sentences that only look like them."""

from __future__ import annotations

import pytest

from hindsight_integrations.reflect.plain_wording import plain_wording
from hindsight_integrations.reflect.stance import judgement


@pytest.mark.parametrize(
    ("text", "topic", "sign"),
    [
        ("Kudos to customer support!", "customer support", 1),
        ("I can't recommend the tent highly enough.", "tent", 1),
        ("Hotel Miramar: friendly staff, spotless rooms, great view.", "Hotel Miramar", 1),
        ("the new linter: slow, buggy and confusing", "new linter", -1),
        ("Best 60 quid I ever spent, this air fryer.", "air fryer", 1),
        ("Bloody awful, those curtains.", "those curtains", -1),
        ("What a glorious ferry crossing that was!", "ferry crossing", 1),
        ("The portal drives me up the wall.", "portal", -1),
        ("The podcast bored me to tears.", "podcast", -1),
        ("The sauna did wonders for my back.", "sauna", 1),
        ("The boiler has run without a hitch since.", "boiler", 1),
        ("Avoid the night bus like the plague.", "night bus", -1),
        ("In my view the bylaw is unfair and badly drafted.", "bylaw", -1),
        ("Mr Sato could not have been more helpful.", "Mr Sato", 1),
        ("We couldn't be happier with the roofer.", "roofer", 1),
        ("Can't stand the self-checkout tbh", "self-checkout", -1),
        ("Configuring Webpack is a nightmare.", "Webpack", -1),
        ("The deploy script fails every other day and drives us mad.", "deploy script", -1),
        ("Our midwife Consolata was an absolute star.", "Consolata", 1),
        ("The guide is great and never gets boring.", "guide", 1),
        ("The haircut is hideous and I look ten years older.", "haircut", -1),
    ],
)
def test_a_set_phrase_judges(text: str, topic: str, sign: int) -> None:
    read = judgement(text, topic)
    assert read is not None
    assert read.sign == sign


@pytest.mark.parametrize(
    ("text", "topic"),
    [
        ("Avoid the hotel lifts like the plague.", "hotel"),
        ("Avoid the hotel car park.", "hotel"),
        ("Kudos to Ana for mending the hotel's wifi.", "hotel"),
        ("Anna: friendly staff, great view", "Anna"),  # she says it
        ("Hotel Miramar: friendly staff, mouldy rooms.", "Hotel Miramar"),
        ("Hotel Miramar: friendly staff.", "Hotel Miramar"),
        ("Hotel Miramar: not friendly, not great.", "Hotel Miramar"),
        ("Isn't the hotel nice!", "hotel"),
        ("Wouldn't the hotel be comfortable.", "hotel"),
        ("Calling the police was stupid.", "police"),
        ("Using the hammer was stupid.", "hammer"),
        ("Sirius is a star.", "Sirius"),
        ("The song drives me crazy.", "song"),  # fondly, perhaps
        ("I could not have been more wrong about the hotel.", "hotel"),
        ("Give the nurse a call.", "nurse"),
        ("Give Tom a raise.", "Tom"),
        ("Kudos to the railway, another two hours on the platform.", "railway"),
        ("Avoid peanuts at all costs.", "peanuts"),
        ("Milk makes me sick.", "milk"),
        ("The ferry left an hour late and was lovely.", "ferry"),
        ("She lost our keys and is charming.", "she"),
        ("The waiter spilled the soup and was charming.", "waiter"),
        ("Tom works at a firm that runs without a hitch.", "Tom"),
        ("I love the hotel's breakfast.", "hotel"),
        ("I value your opinion!", "opinion"),
        ("Kudos to every hotel.", "hotel"),
        ("If only I could say that the hotel did wonders for my back.", "hotel"),
        ("The road runs without a hitch to Split.", "hitch"),
    ],
)
def test_what_only_looks_like_one_judges_nothing(text: str, topic: str) -> None:
    assert judgement(text, topic) is None


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("In my view the portal is slow, tbh.", "the portal is slow."),
        ("Honestly, the soup was cold.", "the soup was cold."),
        ("Sunrise yoga = pure bliss.", "Sunrise yoga is pure bliss."),
        ("They couldn't have been kinder.", "They were very kind."),
        ("I couldn't be happier with it.", "I am very happy with it."),
        ("What a lovely place Rome is!", "Rome is a lovely place."),
        ("The honest answer is no.", "The honest answer is no."),
    ],
)
def test_what_only_stresses_a_judgement_is_left_out(text: str, plain: str) -> None:
    assert plain_wording(text) == plain


@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    "text",
    [
        "best " * 50_000,
        "in my view, " * 20_000,
        "What a " + "lovely " * 30_000 + "place Rome is",
        "Hotel: " + "great, " * 30_000,
        "could not be more " * 12_000,
    ],
)
def test_hostile_text_takes_no_time(text: str) -> None:
    assert plain_wording(text)
