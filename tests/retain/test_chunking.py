"""Chunks lose no text, stay within their size, and change only where the text changes."""

from __future__ import annotations

import random

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from hindsight_integrations.nlp.spacy_pipeline import sentence_ends
from hindsight_integrations.retain.chunking import Break, pieces, split


def count(text: str) -> int:
    """A token is a word, or four characters of a long one."""
    return sum(1 + len(word) // 5 for word in text.split())


def visible(text: str) -> str:
    return "".join(text.split())


def sentences(text: str) -> list[str]:
    ends = sentence_ends(text)
    return [text[start:end].strip() for start, end in zip([0, *ends], ends, strict=False)]


TEXTS = st.text(
    st.one_of(st.characters(), st.sampled_from(" \n.!?。।-#\u0301\u200d👩🏽👧🇩🇪aB1")), max_size=400
)


@given(TEXTS, st.integers(1, 60))
def test_chunks_lose_no_visible_character(text: str, limit: int) -> None:
    chunks = split(text, limit, count)
    assert visible("".join(chunks)) == visible(text)
    assert all(chunk == chunk.strip() and chunk for chunk in chunks)


@given(TEXTS, st.integers(4, 60))
def test_chunks_stay_within_the_limit(text: str, limit: int) -> None:
    single = max((count(word) for word in text.split()), default=0)
    assert all(count(chunk) <= limit or single > limit for chunk in split(text, limit, count))


@given(TEXTS, st.integers(1, 60))
@example(" 00000", 1)
def test_pieces_join_to_the_text(text: str, limit: int) -> None:
    assert "".join(piece.text for piece in pieces(text, limit, count)) == text


def test_a_paragraph_is_a_chunk() -> None:
    first = "The ferry leaves at nine and takes forty minutes to the island, in good weather."
    second = "Tickets are sold on board, and the last boat back to town leaves at a quarter to ten."
    assert split(f"{first}\n\n{second}\n", 100, count) == [first, second]


def test_a_heading_stays_with_what_it_heads() -> None:
    body = "The ferry leaves at nine and takes forty minutes to the island, in good weather."
    assert split(f"# Getting there\n\n{body}", 100, count) == [f"# Getting there\n\n{body}"]
    long_body = " ".join([body] * 20)
    assert split(f"# Getting there\n\n{long_body}", 100, count)[0].startswith(
        "# Getting there\n\nThe"
    )


def test_an_edit_changes_only_the_chunks_it_touches() -> None:
    rng = random.Random(7)
    words = [f"word{n}" for n in range(200)]
    paragraphs = [" ".join(rng.choices(words, k=rng.randint(20, 60))) + "." for _ in range(40)]
    before = split("\n\n".join(paragraphs), 100, count)
    paragraphs[20] += " One more sentence."
    paragraphs.insert(30, "A paragraph that was not there before, about the weather on the island.")
    after = split("\n\n".join(paragraphs), 100, count)
    assert len(set(before) - set(after)) == 1
    assert len(set(after) - set(before)) == 2


def test_an_edit_of_one_long_line_leaves_its_far_ends_alone() -> None:
    rng = random.Random(3)
    lines = [f"{' '.join(rng.choices('abcdefgh', k=9))} {n}." for n in range(600)]
    before = split(" ".join(lines), 100, count)
    lines.insert(300, "Something new was said here.")
    after = split(" ".join(lines), 100, count)
    assert len(before) > 50
    assert len(set(before) ^ set(after)) <= 8


def test_a_cut_prefers_the_better_break() -> None:
    text = "One two three four five. Six seven eight nine ten. " * 8
    assert all(chunk.endswith(".") for chunk in split(text, 20, count))
    listing = "\n".join(f"item {n} of the list" for n in range(40))
    assert all(chunk.startswith("item") for chunk in split(listing, 20, count))


@pytest.mark.parametrize("character", ["👨‍👩‍👧‍👦", "é", "🇩🇪", "한", "👍🏽"])
def test_no_character_is_cut_in_two(character: str) -> None:
    text = character * 300
    for chunk in split(text, 20, count):
        assert len(chunk) % len(character) == 0
        assert chunk == character * (len(chunk) // len(character))


@pytest.mark.parametrize("text", ["", "  \n\n \t\n", "\u3000"])
def test_blank_text_has_no_chunks(text: str) -> None:
    assert split(text, 100, count) == []


@pytest.mark.slow
@pytest.mark.parametrize(
    "unit",
    [
        "The quick brown fox jumps over it. ",
        "word ",
        "abcdefghij",
        "我们在北京见了王伟",
        ".",
        ".)",
        "a\n\n",
        "( ",
    ],
)
def test_a_megabyte_of_anything_is_split_whole(unit: str) -> None:
    text = unit * (1_000_000 // len(unit))
    chunks = split(text, 512, count)
    assert "".join("".join(chunks).split()) == "".join(text.split())


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("He left. She stayed.", ["He left.", "She stayed."]),
        (
            "Dr. Smith met J. K. Rowling. They spoke.",
            ["Dr. Smith met J. K. Rowling.", "They spoke."],
        ),
        ("It costs 3.50 today, e.g. here. Buy it!", ["It costs 3.50 today, e.g. here.", "Buy it!"]),
        ("“Really?” she said. Yes.", ["“Really?” she said.", "Yes."]),
        ("So did I. Then we left.", ["So did I.", "Then we left."]),
        ("See No. 5 and no. 6. Done.", ["See No. 5 and no. 6.", "Done."]),
        ("z.B. bei Hr. Müller. Das ist gut.", ["z.B. bei Hr. Müller.", "Das ist gut."]),
        ("Wait... what? Right.", ["Wait... what?", "Right."]),
        (
            "今天很好。我去了北京！「真的？」他说。",
            ["今天很好。", "我去了北京！", "「真的？」", "他说。"],
        ),
        ("यह अच्छा है। वह गया।", ["यह अच्छा है।", "वह गया।"]),
        ("Buy:\n- milk\n- bread", ["Buy:", "- milk", "- bread"]),
        ("a line that is\nwrapped here. End", ["a line that is\nwrapped here.", "End"]),
    ],
)
def test_sentences_end_where_a_reader_would_say(text: str, expected: list[str]) -> None:
    assert sentences(text) == expected


@given(TEXTS)
def test_sentence_ends_rise_to_the_length(text: str) -> None:
    ends = sentence_ends(text)
    assert ends == sorted(set(ends))
    assert (ends[-1:] or [0]) == [len(text)]


def test_breaks_are_ranked_from_paragraph_to_character() -> None:
    kinds = [piece.ends for piece in pieces("One two.\n\nThree four. Five", 100, count)]
    assert kinds == [Break.PARAGRAPH, Break.SENTENCE, Break.SENTENCE]


@pytest.mark.parametrize(
    ("text", "count_of_sentences"),
    [
        ("Read Brandt et al. 2020 again.", 1),
        ("I met Al. Ben came later.", 2),
        ("Paid 310 incl. VAT on Monday.", 1),
        ("Cake for Fam. Brandt, 3 tiers.", 1),
        ("They deliver min. 20 bags.", 1),
        ("It takes a min. Then it stops.", 2),
    ],
)
def test_abbreviations_of_notes_end_no_sentence(text: str, count_of_sentences: int) -> None:
    assert len(sentences(text)) == count_of_sentences


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("got the flat. moving in june", ["got the flat.", "moving in june"]),
        ("who has my hoodie? it is grey", ["who has my hoodie?", "it is grey"]),
        ("Got the flat, approx. four rooms.", ["Got the flat, approx. four rooms."]),
        ('"Really?" she asked. He left.', ['"Really?" she asked.', "He left."]),
        ("he came at 5 p.m. today", ["he came at 5 p.m. today"]),
        ("tea, milk etc. are in the hall", ["tea, milk etc. are in the hall"]),
        ("well... maybe later", ["well... maybe later"]),
        ("12 eggs. bread", ["12 eggs. bread"]),
        ("ждём тебя. приходи", ["ждём тебя.", "приходи"]),
    ],
)
def test_a_text_without_capitals_has_sentences_too(text: str, found: list[str]) -> None:
    assert sentences(text) == found
