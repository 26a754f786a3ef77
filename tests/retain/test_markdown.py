"""A note is cut into sections whose text is whole lines of it, each with the headings above it."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from hindsight_integrations.retain.markdown import front_matter, markdown_sections


def cut(text: str) -> list[tuple[str, tuple[str, ...]]]:
    return [(" ".join(each.text.split()), each.headings) for each in markdown_sections(text)]


def test_sections_have_the_headings_above_them() -> None:
    text = (
        "Intro.\n\n# A\n\nText one.\n\nText two.\n\n## **B**\n- x\n  - y\n\n  more\n- z\n\nAfter.\n"
        "### C #\n# D\n```\n# no heading\n- no item\n```\n"
    )
    assert cut(text) == [
        ("Intro.", ()),
        ("Text one. Text two.", ("A",)),
        ("- x - y more", ("A", "B")),
        ("- z", ("A", "B")),
        ("After.", ("A", "B")),
        ("### C #", ("A", "B")),  # nothing is below it
        ("``` # no heading - no item ```", ("D",)),
    ]


def test_a_line_with_a_colon_leads_into_the_list_below_it() -> None:
    text = "Long text.\n\n**Decisions:**\n\n- one\n- two\n\nNote:\nmore:\n- three\n\nLast:\n"
    assert cut(text) == [
        ("Long text.", ()),
        ("- one", ("Decisions",)),
        ("- two", ("Decisions",)),
        ("Note: more:", ()),
        ("- three", ()),
        ("Last:", ()),
    ]


def test_a_heading_too_long_for_a_context_is_a_section_too() -> None:
    long = "word " * 60 + "end"
    assert [each.text for each in markdown_sections(f"# {long}\nText.")] == [f"# {long}\n", "Text."]
    (one, two) = markdown_sections(f"{long}:\n\n- x")
    assert (one.headings, two.headings) == ((), ())


def test_front_matter_is_metadata_and_no_text() -> None:
    text = "---\na: 1\nb: [x, y]\nc: 2026-02-03\nd: {e: f}\ng:\nh: .nan\n---\n\n---\nText.\n"
    assert front_matter(text) == {"a": 1, "b": "x, y", "c": "2026-02-03"}
    assert cut(text) == [("--- Text.", ())]
    for broken in ("---\n" + "[" * 5000 + "\n---\nText.", "---\njust words\n---\nText."):
        assert front_matter(broken) == {}
        assert "Text." in markdown_sections(broken)[-1].text


PARTS = [
    "# ",
    "## ",
    "- ",
    "1. ",
    "  ",
    "\n",
    "\n\n",
    "word",
    "Ä:",
    "```\n",
    "---\n",
    "\x0c",
    "\u2028",
]


@given(st.lists(st.sampled_from(PARTS), max_size=40).map("".join))
def test_every_word_is_in_one_section_or_its_headings(text: str) -> None:
    sections = markdown_sections(text)
    end = 0
    for section in sections:
        assert section.start >= end
        end = section.start + len(section.text)
        assert text[section.start : end] == section.text
    kept = "".join(section.text for section in sections)
    above = "".join("".join(section.headings) for section in sections)
    assert ("word" in text) == ("word" in kept or "word" in above)
