"""Changes that observations tell: none is false, and most plain ones are told."""

from __future__ import annotations

import pytest

from benchmarks.understanding.changes import lead_of, measure, say
from hindsight_integrations import Hindsight, Settings


@pytest.mark.slow
@pytest.mark.parametrize("half", ["dev", "held_out", "plain"])
def test_no_change_is_false_and_most_are_told(half: str) -> None:
    (score,) = measure(half)
    assert score.wrong == []
    assert score.recall >= 0.85, score.missed


def _told(*said: str) -> list[str]:
    with Hindsight.in_memory(settings=Settings(consolidate=False)) as memory:
        for number, text in enumerate(said):
            say(memory, "b", None, text, 40 * number)
        memory.consolidate("b")
        return [lead_of(one).casefold() for one in memory.observations.list("b").items]


@pytest.mark.parametrize(
    ("first", "then", "told"),
    [
        (
            "Hamid lives in Utrecht near the canal.",
            "Since the divorce Hamid no longer lives in Utrecht.",
            "on hamid and utrecht, then no longer: ",
        ),
        (
            "Emeka plays for Brighton Rovers on Sundays.",
            "Emeka left Brighton Rovers for Hove Athletic, he wanted more game time.",
            "on emeka, first brighton rovers, then hove athletic: ",
        ),
        (
            "Tom uses Vim.",
            "Tom no longer uses Vim; his boss uses Emacs.",
            "on tom and vim, then no longer: ",
        ),
        (
            "Mara drinks coffee.",
            "Mara no longer drinks coffee, her doctor is strict.",
            "on mara and coffee, then no longer: ",
        ),
        (
            "Ingrid works in the Oslo office.",
            "Ingrid has moved to the Bergen office for family reasons.",
            "on ingrid, first oslo office, then bergen office: ",
        ),
        (
            "The billing service stores invoices in MySQL.",
            "The billing service moved from MySQL to CockroachDB.",
            "on the billing service, first mysql, then cockroachdb: ",
        ),
        (
            "Acorn Bakery buys its flour from Millstone.",
            "Acorn Bakery no longer buys flour from Millstone but from Harrow.",
            "on acorn bakery, first millstone, then harrow: ",
        ),
        (
            "Lumen Dental is on the Premium plan with us.",
            "Lumen Dental is no longer on Premium, they went down to Basic in April.",
            "on lumen dental, first premium, then basic: ",
        ),
        (
            "Our bank is Halifax.",
            "We moved to Starling in May.",
            "on the bank, first halifax, then starling: ",
        ),
        (
            "Kestrel runs its CI on Jenkins.",
            "Kestrel moved to CircleCI after the server died again.",
            "on kestrel, first jenkins, then circleci: ",
        ),
        (
            "Customer chat at Lumora goes through Zendesk.",
            "In May Lumora switched to Intercom for customer chat.",
            "on customer chat at lumora, first zendesk, then intercom: ",
        ),
        (
            "Paloma is with the design group.",
            "Paloma has left the design group for the research group.",
            "on paloma, first design group, then research group: ",
        ),
        (
            "Ottmar plays for Riverdale.",
            "Ottmar, who hates long drives, left Riverdale for Kestrel Park.",
            "on ottmar, first riverdale, then kestrel park: ",
        ),
        (
            "Rosa works the early shift.",
            "Rosa switched from early to late in March.",
            "on rosa, first early, then late: ",
        ),
        (
            "Mona works in audit.",
            "Mona left audit for tax.",
            "on mona, first audit, then tax: ",
        ),
        (
            "The keys are kept in the office.",
            "The keys are now kept in the workshop.",
            "on the keys, first office, then workshop: ",
        ),
        (
            "The quiz team meets at the Red Lion.",
            "The quiz team has moved to the Black Swan.",
            "on the quiz team, first red lion, then black swan: ",
        ),
        (
            "The wiki runs on Foswiki.",
            "The wiki no longer runs on Foswiki; it uses Outline.",
            "on the wiki, first foswiki, then outline: ",
        ),
        (
            "The audit deadline is owned by Marta.",
            "Marta no longer owns the audit deadline, Otto does.",
            "on the audit deadline, first marta, then otto: ",
        ),
        (
            "Ingrid works at Statoil.",
            "Ingrid left her job at Statoil for one at Aker.",
            "on ingrid, first statoil, then aker: ",
        ),
        (
            "The mill buys its grain from Ostfeld.",
            "The mill no longer buys from Ostfeld; Kornhaus delivers the grain.",
            "on the mill, first ostfeld, then kornhaus: ",
        ),
    ],
)
def test_a_plain_change_is_told_whatever_stands_around_it(first: str, then: str, told: str) -> None:
    assert told in _told(first, then)


@pytest.mark.parametrize(
    ("first", "then"),
    [
        ("Ana works at Siemens.", "Ana left Siemens for Bosch, that is what Bob says."),
        ("Ana works at Siemens.", "If the offer is good Ana has left Siemens for Bosch by May."),
        ("Ana works at Siemens.", "Bob, not Ana, moved from Siemens to Bosch."),
        ("Ana trains at Ironworks Gym.", "Ana is now at Bosch, she started in July."),
        ("Lars uses Slack.", "Lars now uses Todoist."),
        ("Harriet owns the blue boat.", "Harriet moved to the red boat, the view was better."),
        ("Marta lives in Graz.", "In spring a friend of Marta moved from Graz to Linz."),
        ("Our old bank is Halifax.", "We moved to Starling in May."),
        ("Ana works at Tesla.", "Ana has switched to a BMW."),
        ("Ana has a son at Elm School.", "Ana moved to Oak School."),
        ("Ana uses Slack and Discord.", "Ana has switched to Teams."),
        ("Ana eats meat.", "Ana no longer eats meat on Mondays."),
        ("Ana works at Siemens.", "Ana left Siemens for good."),
        ("Ana works at the library.", "Ana left the library for the station."),
        ("Ana lives in Ghent.", "Ana left Ghent for Paris on Monday and is back on Friday."),
        ("Ana studies biology.", "Ana switched from biology to the next exercise."),
        ("The report is in the shared drive.", "The report is now in review."),
        ("Omar uses Vim.", "Omar switched from Vim to Helix, but he still opens it on servers."),
        ("Susan from sales drives a Fiat.", "Susan from the archive no longer drives a Fiat."),
    ],
)
def test_what_looks_like_a_plain_change_is_not_told(first: str, then: str) -> None:
    assert not any("first " in lead or "no longer" in lead for lead in _told(first, then))
