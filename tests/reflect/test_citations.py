from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hindsight_integrations.reflect.citations import read_citations

IDS = {"m-1a2b3c": "m-1a2b3c4d5e6f70819203", "m-99aa00": "m-99aa0012345678901234"}
FIRST, SECOND = IDS.values()


@pytest.mark.parametrize(
    ("answer", "text", "sources", "foreign"),
    [
        ("Yes [m-1a2b3c].", "Yes [m-1a2b3c].", (FIRST,), ()),
        ("Yes[m-1a2b3c].", "Yes [m-1a2b3c].", (FIRST,), ()),
        ("Yes (m-1a2b3c).", "Yes [m-1a2b3c].", (FIRST,), ()),
        ("As m-1a2b3c says.", "As [m-1a2b3c] says.", (FIRST,), ()),
        ("Yes [m-99aa00, m-1a2b3c].", "Yes [m-99aa00, m-1a2b3c].", (SECOND, FIRST), ()),
        ("Yes [m-1a2b3c and m-99aa00]", "Yes [m-1a2b3c, m-99aa00]", (FIRST, SECOND), ()),
        ("A [m-1a2b3c]. B [m-1a2b3c].", "A [m-1a2b3c]. B [m-1a2b3c].", (FIRST,), ()),
        (f"Yes [{FIRST}].", "Yes [m-1a2b3c].", (FIRST,), ()),
        ("Yes [m-1a2b3c4d].", "Yes [m-1a2b3c].", (FIRST,), ()),
        ("Yes [m-777777].", "Yes.", (), ("m-777777",)),
        ("Yes [m-777777, m-1a2b3c].", "Yes [m-1a2b3c].", (FIRST,), ("m-777777",)),
        ("In the mid-decade [sic] of [1990].", "In the mid-decade [sic] of [1990].", (), ()),
        ("No citation.", "No citation.", (), ()),
    ],
)
def test_known_citations_stay_and_foreign_ones_go(
    answer: str, text: str, sources: tuple[str, ...], foreign: tuple[str, ...]
) -> None:
    cited = read_citations(answer, [], IDS)
    assert (cited.text, cited.sources, cited.foreign) == (text, sources, foreign)


def test_listed_sources_follow_those_in_the_text() -> None:
    listed = ["7 May: [m-1a2b3c],", "m-99aa00", "the wiki", " ", "m-555555"]
    cited = read_citations("Yes [m-99aa00].", listed, IDS)
    assert cited.sources == (SECOND, FIRST)
    assert cited.foreign == ("the wiki", "m-555555")


@given(st.text(), st.lists(st.text()))
def test_nothing_but_what_was_retrieved_is_ever_a_source(answer: str, listed: list[str]) -> None:
    assert set(read_citations(answer, listed, IDS).sources) <= set(IDS.values())


@given(st.text(alphabet="[]() -mxabc0123456789,\n"))
def test_reading_an_answer_twice_changes_nothing_more(answer: str) -> None:
    once = read_citations(answer, [], IDS)
    twice = read_citations(once.text, [], IDS)
    assert (twice.text, twice.sources) == (once.text, once.sources)
