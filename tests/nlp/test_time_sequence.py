"""Times counted from the time told before them."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from hindsight_integrations.nlp.spacy_pipeline import Pipeline
from hindsight_integrations.nlp.time import find_times, parse_query

SAID = datetime(2025, 6, 1, 12, tzinfo=UTC)  # a Sunday


@pytest.fixture(scope="module")
def pipeline() -> Pipeline:
    return Pipeline()


def told(pipeline: Pipeline, text: str) -> dict[str, str]:
    """Return the spans that a statement names, by the words that name them."""
    (annotation,) = pipeline.annotate([text])
    return {time.text: str(time.span) for time in find_times(text, SAID, words=annotation.tokens)}


@pytest.mark.parametrize(
    ("text", "words", "span"),
    [
        (
            "They moved in 2019; two years later they had a son.",
            "two years later",
            "1 Jan 2021 to 31 Dec 2021",
        ),
        (
            "He was born in 1950. Ten years later the family moved to Leeds.",
            "Ten years later",
            "1 Jan 1960 to 31 Dec 1960",
        ),
        (
            "On 3 May 2019 she resigned, and left three weeks later.",
            "three weeks later",
            "20 May 2019 to 26 May 2019",
        ),
        (
            "We met in March 2024 and married the next month.",
            "the next month",
            "1 Apr 2024 to 30 Apr 2024",
        ),
        ("We landed on 3 May 2025 and flew on the day after.", "the day after", "4 May 2025"),
        (
            "It rained on Friday 3 May 2019, and the following Sunday it snowed.",
            "the following Sunday",
            "5 May 2019",
        ),
        (
            "He came in spring 2019 and left the following autumn.",
            "the following autumn",
            "1 Sep 2019 to 30 Nov 2019",
        ),
        (
            "Mum was ill last week and the week before.",
            "the week before",
            "12 May 2025 to 18 May 2025",
        ),
        ("I am off tomorrow and the day after.", "the day after", "3 Jun 2025"),
        (
            "Im Mai 2019 heirateten sie, im Jahr darauf kam Ida.",
            "im Jahr darauf",
            "1 Jan 2020 to 31 Dec 2020",
        ),
        (
            "En 2019 se mudó y dos años después murió.",
            "dos años después",
            "1 Jan 2021 to 31 Dec 2021",
        ),
        (
            "Elle est partie en mai 2019 et l'année suivante elle est revenue.",
            "l'année suivante",
            "1 Jan 2020 to 31 Dec 2020",
        ),
    ],
)
def test_a_time_is_counted_from_the_one_before(
    pipeline: Pipeline, text: str, words: str, span: str
) -> None:
    assert told(pipeline, text)[words] == span


def test_a_time_is_counted_from_one_that_was_counted(pipeline: Pipeline) -> None:
    text = "In 2010 we moved, two years later Ann was born, and the year after, Tom."
    assert list(told(pipeline, text).values())[1:] == [
        "1 Jan 2012 to 31 Dec 2012",
        "1 Jan 2013 to 31 Dec 2013",
    ]


@pytest.mark.parametrize(
    ("text", "certain"),
    [
        # the time beside it is what it counts to
        ("He died in 1960, ten years later.", ["died in 1960"]),
        ("In 1998 (a year later) it closed.", ["In 1998"]),
        # a comparison, or only about so long
        ("On 3 May 2019 we planned to leave two weeks later than usual.", ["3 May 2019"]),
        ("In 2019 I moved, and about two years later I left.", ["In 2019"]),
        ("In 2019 I moved; about two years later Ann came, and a year later Tom.", ["In 2019"]),
        ("In 2019 sales rose 5 % on the previous year.", ["In 2019"]),
        # counted from a time that is excluded, or too long to count days from
        ("Not on 3 May 2025 but a week later.", []),
        ("In 2019 I moved, and two days later I left.", ["In 2019"]),
        # counted from what no text tells
        ("See you the following Tuesday.", []),
        ("They talk every Monday and the following day.", []),
        ("In 2019 we moved. It was a hard time. Two years later Ann was born.", ["In 2019"]),
        ("In 2019 we moved.\n\nTwo years later Ann was born.", ["In 2019"]),
        ("In May 2019 we wrote the following month report.", ["May 2019"]),
    ],
)
def test_what_is_not_certain_is_not_counted(
    pipeline: Pipeline, text: str, certain: list[str]
) -> None:
    assert list(told(pipeline, text)) == certain


def test_a_date_in_apposition_takes_its_year_from_the_count(pipeline: Pipeline) -> None:
    text = "I saw him on 5 June 2023. Two days later, on 7 June, we left."
    assert told(pipeline, text) == {"5 June 2023": "5 Jun 2023", "Two days later": "7 Jun 2023"}


@pytest.mark.parametrize(
    ("question", "spans"),
    [
        (
            "What grew there in 2023, and what took its place the year after?",
            ["1 Jan 2023 to 31 Dec 2023", "1 Jan 2024 to 31 Dec 2024"],
        ),
        (
            "What did Tom win in 2019 and the year before?",
            ["1 Jan 2019 to 31 Dec 2019", "1 Jan 2018 to 31 Dec 2018"],
        ),
        ("What happened the year after?", []),
    ],
)
def test_a_question_asks_for_both_times(question: str, spans: list[str]) -> None:
    windows = parse_query(question, SAID).windows
    assert [str(window.span) for window in windows] == spans
    assert not parse_query(question, SAID).anchors


def test_hostile_text_takes_no_longer_than_its_length() -> None:
    text = "in May 2019, two days later " * 4_000
    assert len(find_times(text, SAID)) >= 4_000


def test_a_long_gap_is_read_once() -> None:
    text = f"in May 2019{' ' * 200_000}x two days later"
    assert [time.text for time in find_times(text, SAID)] == ["May 2019"]
