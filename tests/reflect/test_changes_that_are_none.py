"""Pairs of statements that look like a change and are none, beside true changes of their kind."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from hindsight_integrations.models import Memory
from hindsight_integrations.reflect.changes.contradictions import change, dated_statements

START = datetime(2025, 3, 3, 9, tzinfo=UTC)


def told(first: str, then: str, speaker: str | None = None) -> list[tuple[str, str | None]]:
    """Return the values before and after of each change that the second text tells."""
    older, newer = (
        dated_statements(
            Memory(
                id=f"m{number}",
                bank_id="b",
                text=text,
                mentioned_at=START + timedelta(days=40 * number),
                speaker=speaker,
            )
        )
        for number, text in enumerate((first, then))
    )
    shifts = (change(one, other) for one in older for other in newer)
    return [(shift.before, shift.after) for shift in shifts if shift is not None]


@pytest.mark.parametrize(
    ("first", "then"),
    [
        ("The user cycles the Velothon every June.", "The user moved to Kassel."),
        ("The user admires Verdi.", "The user moved to Kassel."),
        ("The user was raised in Malawi.", "The user moved to Kassel."),
        ("The patient sees Dr. Brandt.", "The patient moved to Kassel."),
        ("My mother bakes Sachertorte.", "My mother moved to Graz."),
        ("The orchestra plays Sibelius.", "The orchestra moved to Graz."),
        ("The charity is funded by Volvo.", "The charity moved to Graz."),
        ("The horse eats Agrobs.", "The horse moved to Ludlow."),
    ],
)
def test_who_moves_changes_where_they_live_and_nothing_else(first: str, then: str) -> None:
    assert told(first, then) == []


@pytest.mark.parametrize(
    ("first", "then"),
    [
        ("The site is written in Vue.", "We moved the site to Hetzner."),
        ("The newsletter is written in Markdown.", "We moved the newsletter to Brevo."),
        ("I'll build the shop in React.", "I moved the shop to Bristol."),
        ("The choir rehearses with Petra.", "The choir moved to Leipzig."),
    ],
)
def test_a_place_does_not_replace_a_material_or_a_person(first: str, then: str) -> None:
    assert told(first, then) == []


def test_what_a_work_is_made_with_may_be_replaced_by_its_like() -> None:
    first, then = "The backend is written in Java.", "The backend was moved to Rust."
    assert told(first, then) == [("Java", "Rust")]


@pytest.mark.parametrize(
    ("first", "then"),
    [
        ("The entry fee is 12 euros.", "The entry fee for groups is now 8 euros."),
        ("The quota is 30.", "The quota in Norway is now 44."),
        ("The lecture is at the Forum.", "The lecture by the guests is now at the Lyceum."),
        ("The zoo opens at 9.", "The zoo kiosk now opens at 10."),
        ("The survey is led by Ines.", "The sub-survey is now led by Paul."),
        (
            "The deadline for the poster is 4 June.",
            "The editor moved the deadline for the badges from 4 June to 9 June.",
        ),
    ],
)
def test_a_thing_with_another_qualifier_is_another_thing(first: str, then: str) -> None:
    assert told(first, then) == []


@pytest.mark.parametrize(
    "then",
    [
        "In 1987 Lena moved to Vienna.",
        "Lena moved to Vienna when she was nine.",
        "Lena moved to Vienna as a teenager.",
        "Lena moved to Vienna decades ago.",
        "Lena moved to Vienna eight years ago.",
        "As a girl Lena moved to Vienna each winter.",
        "Lena moved to Vienna in 2001 and back in 2004.",
        "Lena moved to Vienna, hahaha, nope.",
        "Lena moved to Vienna - not.",
        "Lena moved to Vienna, or so her cousin claims.",
        "Lena moved to Vienna in her dreams.",
        "Lena moved to Vienna. Only kidding!",
        "Lena moved to Vienna. No, not really.",
        "Aunt Lena moved to Vienna.",
        "The other Lena moved to Vienna.",
        "Lena moved to Vienna Street.",
    ],
)
def test_a_move_of_the_past_in_jest_or_of_another_is_no_news(then: str) -> None:
    assert told("Lena lives in Zurich.", then) == []


@pytest.mark.parametrize(
    ("first", "then"),
    [
        ("My colleague uses Sage.", "My colleague switched to Xero."),
        ("My brother lives in Lille.", "My brother moved to Nancy."),
        ("A neighbour lives in Lille.", "A neighbour moved to Nancy."),
        ("One of my nieces lives in Lille.", "One of my nieces moved to Nancy."),
        ("My pupil is at Elm School.", "My pupil is now at Oak School."),
    ],
)
def test_one_of_several_is_nobody_in_particular(first: str, then: str) -> None:
    assert told(first, then) == []


@pytest.mark.parametrize(
    ("first", "then"),
    [
        ("I live in Poole.", "I moved to Ubuntu."),
        ("I live in Poole.", "I've moved to Pro."),
        ("I train at Corefit.", "I left Corefit for the cinema."),
        ("I train at Corefit.", "I left Corefit for Subway."),
        ("I bank with Lloyds.", "I left Lloyds for Greggs."),
        ("I work for Siemens.", "I'm now at Philips, talk begins at ten."),
        ("I work at Siemens.", "I've left Siemens a long letter."),
        ("I drink Heineken.", "I switched to Bolt."),
        ("I play bass.", "I switched to sea bass."),
        ("I take the 7 tram.", "I changed from the 7 to the 9 at the square, as usual."),
        ("I use Firefox at work.", "I switched to Chrome at home."),
        ("I drive a Passat.", "I sold a Passat this morning, I love this job."),
        ("I eat lamb.", "I no longer eat lamb that I have fed myself."),
        ("I eat bread.", "I no longer eat bread and butter."),
        ("I live in Poole.", "I am no longer in Poole today."),
        ("I use Slack.", "I switched from Slack to Outlook and back all morning."),
        ("I'm with Santander and I use Monzo for trips.", "I've switched to Revolut."),
        ("I'm engaged to Rosa.", "I'm no longer quarrelling with Rosa."),
    ],
)
def test_another_sense_of_the_words_is_no_change(first: str, then: str) -> None:
    assert told(first, then, "Jo") == []


@pytest.mark.parametrize(
    ("first", "then"),
    [
        ("Ravi is a senior welder at Kranz.", "Ravi is now the drummer of a wedding band."),
        ("Ravi is the treasurer of the guild.", "Ravi is now the captain of the second team."),
        ("Ravi is the striker.", "Ravi is now the groom."),
        ("Ravi's coach is Bruno.", "Ravi's coach is now Finnish."),
        ("Ravi leads the search team.", "Ravi now leads the hiking group."),
    ],
)
def test_a_role_beside_another_does_not_replace_it(first: str, then: str) -> None:
    assert told(first, then) == []


@pytest.mark.parametrize(
    ("first", "then", "values"),
    [
        ("The user lives in Leeds.", "The user moved to Madrid.", ("Leeds", "Madrid")),
        ("The user uses Slack.", "The user switched to Teams.", ("Slack", "Teams")),
        ("The user works at Bosch.", "The user left Bosch for Philips.", ("Bosch", "Philips")),
        ("My mother lives in Ghent.", "My mother moved to Madrid.", ("Ghent", "Madrid")),
        ("My eldest son lives in Bonn.", "My eldest son moved to Berlin.", ("Bonn", "Berlin")),
        ("My sister Ana lives in Bonn.", "My sister Ana moved to Berlin.", ("Bonn", "Berlin")),
        ("The clinic is in Derby.", "The clinic moved to Madrid.", ("Derby", "Madrid")),
        ("The quiz is on Monday.", "The quiz moved to Friday.", ("Monday", "Friday")),
        (
            "The fee for children is 40 euros.",
            "The fee for children is now 20 euros.",
            ("40 euros", "20 euros"),
        ),
        ("Kai lives in Graz.", "Kai moved to Berlin in May.", ("Graz", "Berlin")),
        ("Kai eats meat.", "Kai no longer eats meat, his knees feel better.", ("meat", None)),
        ("Kai owns a Kia.", "Kai sold his Kia.", ("Kia", None)),
        ("Kai is a baker.", "Kai retrained and is now a plumber.", ("baker", "plumber")),
        ("Kai's coach is Bruno.", "Kai's coach is now Carol.", ("Bruno", "Carol")),
        ("Kai works for Bosch.", "Kai now works for Philips.", ("Bosch", "Philips")),
        ("Kai banks with Barclays.", "Kai left Barclays for Monzo.", ("Barclays", "Monzo")),
        ("The library opens at nine.", "The library now opens at ten.", ("nine", "ten")),
    ],
)
def test_a_true_change_is_still_told(first: str, then: str, values: tuple[str, str | None]) -> None:
    assert values in told(first, then)


@pytest.mark.parametrize(
    ("first", "then"),
    [
        ("Ida uses Python at work.", "Ida switched from Python to Rust for her hobby projects."),
        ("I use Slack.", "I switched from Slack to Teams for the client calls."),
        ("Ida drinks coffee.", "Ida switched from coffee to tea halfway through the meeting."),
        ("Ida drinks coffee.", "Ida switched from coffee to tea during Lent."),
        ("Ida drinks coffee.", "Ida switched from coffee to tea at the party."),
        ("Our vet is Dr. Fox.", "The Klein family: our vet is now Dr. Wolf."),
        ("Our tool is Jira.", "The sales team: our tool is now Linear."),
        ("My dentist is Dr. Fox.", "Mum: my dentist is now Dr. Wolf."),
        ("Ida takes the bus.", "Ida stopped the bus."),
        ("Ida runs the café.", "Ida stopped running when her knee hurt."),
        ("Ida drinks coffee.", "Ida stopped drinking."),
        ("The CEO is Ida Holm.", "The CEO of Nortek is now Omar Diaz."),
        ("The pool opens at 7.", "The pool now opens at 9 on Sundays."),
        ("The shop closes at 6.", "The shop now closes at 4 in winter."),
    ],
)
def test_what_is_so_in_a_part_of_the_matter_changes_not_the_whole(first: str, then: str) -> None:
    assert told(first, then) == []


@pytest.mark.parametrize(
    ("first", "then", "values"),
    [
        ("Ida lives in Bergen.", "Ida moved from Bergen to Oslo for work.", ("Bergen", "Oslo")),
        ("Ida uses Python.", "Ida switched from Python to Rust for speed.", ("Python", "Rust")),
        ("Ida uses Python.", "Ida switched from Python to Rust in May.", ("Python", "Rust")),
        (
            "Ida drinks coffee in the morning.",
            "Ida switched from coffee to tea in the morning.",
            ("coffee", "tea"),
        ),
        ("Our vet is Dr. Fox.", "Update: our vet is now Dr. Wolf.", ("Dr. Fox", "Dr. Wolf")),
        ("The CEO is Ida Holm.", "The CEO is now Omar Diaz.", ("Ida Holm", "Omar Diaz")),
        ("Ida smokes cigars.", "Ida stopped smoking.", ("smoking", None)),
        ("Ida runs the café.", "Ida stopped running the café.", ("café", None)),
        ("Ida takes the bus.", "Ida stopped taking the bus.", ("bus", None)),
        ("The pool opens at 7.", "The pool now opens at 9 in the morning.", ("7", "9")),
        ("Bin day is Monday.", "Bin day is now on Tuesdays.", ("Monday", "Tuesdays")),
    ],
)
def test_a_reason_and_a_time_limit_no_change(
    first: str, then: str, values: tuple[str, str | None]
) -> None:
    assert told(first, then) == [values]
