"""A text of any words says something, or nothing: nothing is raised."""

from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st

from hindsight_integrations.nlp.syntax import LONGEST_SENTENCE
from hindsight_integrations.reflect.topics import statements

WORDS = tuple(
    (
        "Tom Ana's Vim Oslo I my our we she the a no longer not now will moved from to uses used "
        "switched is was has left for instead of , . ; : ( ? -- 😀 and but if Acorn drinks coffee "
        "stopped anymore didn't it's says that who works at in since 2021 back likes hates sister"
    ).split()
)


@given(st.lists(st.sampled_from(WORDS), min_size=1, max_size=14), st.sampled_from([None, "Tom"]))
@example([f"Tom uses Vim {'and so on ' * LONGEST_SENTENCE}no longer"], None)
@example(["😀"], "Tom")
def test_any_words_say_something_or_nothing(words: list[str], speaker: str | None) -> None:
    text = " ".join(words)
    for said in statements(text, ("Tom", "Ana", "Acorn", "Oslo"), speaker):
        assert said.text
