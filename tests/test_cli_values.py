"""Values on their way into and out of the command line keep their types."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hindsight_integrations.cli.inputs import scalar
from hindsight_integrations.cli.jsonable import jsonable


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    )
)
def test_what_is_json_already_is_left_as_it_is(value: object) -> None:
    assert jsonable(value) == value


@pytest.mark.parametrize(
    ("text", "value"),
    [("8", 8), ("-1.5", -1.5), ("true", True), ("101b", "101b"), ("null", "null"), ("", "")],
)
def test_metadata_from_the_command_line_is_typed(text: str, value: object) -> None:
    assert scalar(text) == value
    assert type(scalar(text)) is type(value)
