"""Files that are damaged, of another kind or from another release."""

from __future__ import annotations

import gzip
import json
import re
from base64 import b64encode
from collections.abc import Callable, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hindsight_integrations import (
    Hindsight,
    InvalidInputError,
    SchemaVersionError,
    StoreCorruptError,
    StoreError,
)

from .banks import import_


def refused(
    memory: Hindsight, data: bytes, folder: Path, error: type[StoreError] = StoreCorruptError
) -> str:
    """Return the error message on importing a file of this content; check that nothing changed."""
    path = folder / "refused"
    path.write_bytes(data)
    before = memory.banks.list(), memory.runtime.index.keys()
    with pytest.raises(error) as caught:
        import_(memory, path, "refused")
    assert (memory.banks.list(), memory.runtime.index.keys()) == before
    assert "Nothing was imported" in str(caught.value)
    return str(caught.value)


def signed(lines: Sequence[bytes]) -> bytes:
    """A file of these lines with an end that is true of them."""
    counts: dict[str, int] = {}
    for line in lines[1:]:
        name = next(iter(json.loads(line)))
        counts[name] = counts.get(name, 0) + 1
    content = b"".join(line + b"\n" for line in lines)
    end = {"end": {"counts": counts, "sha256": sha256(content).hexdigest()}}
    return content + json.dumps(end).encode() + b"\n"


@pytest.mark.slow
@settings(max_examples=300)
@given(st.floats(0, 1, exclude_max=True), st.integers(1, 255))
def test_a_file_with_any_byte_altered_is_refused(
    home: Hindsight, whole: Path, place: float, change: int
) -> None:
    data = bytearray(whole.read_bytes())
    data[int(place * len(data))] ^= change
    message = refused(home, bytes(data), whole.parent, StoreError)
    assert ", line " in message


@pytest.mark.slow
def test_a_file_cut_off_anywhere_is_refused_and_the_line_named(
    home: Hindsight, whole: Path, tmp_path: Path
) -> None:
    lines = whole.read_bytes().splitlines(keepends=True)
    for kept in range(1, len(lines)):
        message = refused(home, b"".join(lines[:kept]), tmp_path)
        assert f"line {kept + 1}: the end is missing" in message
        message = refused(home, b"".join([*lines[:kept], lines[kept][:-1]]), tmp_path)
        assert f"line {kept + 1}: " in message
        assert "truncated" in message


@pytest.mark.slow
def test_a_compressed_file_cut_off_or_altered_is_refused(
    home: Hindsight, whole: Path, tmp_path: Path
) -> None:
    packed = gzip.compress(whole.read_bytes(), mtime=0)
    for cut in (5, 100, len(packed) // 2, len(packed) - 8, len(packed) - 1):
        assert ", line " in refused(home, packed[:cut], tmp_path)
    for place in (len(packed) // 3, len(packed) // 2, len(packed) - 6):
        altered = packed[:place] + bytes([packed[place] ^ 1]) + packed[place + 1 :]
        assert ", line " in refused(home, altered, tmp_path)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\n",
        b"Dear diary,\n",
        b"{}\n",
        b"[]\n",
        b'{"content": "An item to retain."}\n',
        b'{"hindsight-bank": null}\n',
        b'{"end": {"counts": {}, "sha256": ""}}\n',
        bytes(range(256)) * 100,
        b"[" * 100_000 + b"\n",
        gzip.compress(b"Dear diary,\n", mtime=0),
    ],
)
def test_a_file_of_another_kind_is_refused(home: Hindsight, tmp_path: Path, data: bytes) -> None:
    assert "line 1: this is not an exported bank" in refused(home, data, tmp_path)


@pytest.mark.parametrize("version", [1, 4, 6])
def test_a_file_of_another_release_is_refused(
    home: Hindsight, whole: Path, tmp_path: Path, version: int
) -> None:
    header, *rest = whole.read_bytes().splitlines()[:-1]
    other = header.replace(b'"schema":5', b'"schema":%d,"planet":"Mars"' % version)
    message = refused(home, signed([other, *rest]), tmp_path, SchemaVersionError)
    assert f"the format version is {version}," in message
    assert "upgrade" in message


def test_what_was_taken_out_doubled_or_put_behind_the_end_is_refused(
    home: Hindsight, whole: Path, tmp_path: Path
) -> None:
    lines = whole.read_bytes().splitlines(keepends=True)
    refused(home, b"".join([*lines[:5], *lines[6:]]), tmp_path)
    refused(home, b"".join([*lines[:5], lines[5], *lines[5:]]), tmp_path)
    refused(home, b"".join([*lines[:5], lines[6], lines[5], *lines[7:]]), tmp_path)
    assert f"line {len(lines) + 1}" in refused(home, b"".join([*lines, lines[-1]]), tmp_path)
    assert "line 3" in refused(
        home, signed([lines[0][:-1], lines[1][:-1], lines[0][:-1]]), tmp_path
    )


MISSHAPEN: dict[str, tuple[str, Callable[[Any], object], str]] = {
    "half a character": ("memory", lambda m: m["memory"].update(text="\ud83d"), "text: .*surrog"),
    "no number": ("link", lambda link: link.update(weight=float("nan")), "not a finite number"),
    "a huge number": ("link", lambda link: link.update(weight=10**400), "too large"),
    "a text for a number": ("chunk", lambda c: c.update(position="1"), "position: '1' is not"),
    "a truth for a number": ("chunk", lambda c: c.update(position=True), "position: True"),
    "nothing for a text": ("chunk", lambda c: c.update(text=None), "text: None is not a str"),
    "no timezone": ("change", lambda c: c.update(at="2024-05-07T09:30:15"), "at: .*timezone"),
    "no time": ("change", lambda c: c.update(at="yesterday"), "at: .*yesterday"),
    "a list in metadata": (
        "memory",
        lambda m: m["memory"]["metadata"].update(x=[]),
        r"memory: metadata: \[\] is not",
    ),
    "a span turned round": (
        "memory",
        lambda m: m["memory"]["occurred"].append(
            {"start": "2024-01-02T00:00Z", "end": "2024-01-01T00:00Z", "precision": "day"}
        ),
        "occurred: a time span must end after it starts",
    ),
    "an unknown type": ("memory", lambda m: m["memory"].update(type="rumour"), "type: 'rumour'"),
    "an unknown field": ("entity", lambda e: e.update(colour="red"), "unknown field 'colour'"),
    "a field left out": ("entity", lambda e: e.pop("aliases"), "lacks field 'aliases'"),
    "no base64": ("memory", lambda m: m.update(interaction="%%%"), "interaction: "),
    "half a float": ("memory", lambda m: m.update(vector="AAAA"), "vector: "),
    "a short vector": ("memory", lambda m: m.update(vector="AAAAAA=="), "1 dimensions"),
}  # fmt: skip


@pytest.mark.parametrize("case", MISSHAPEN)
def test_a_line_of_the_wrong_shape_is_refused_even_under_a_true_checksum(
    home: Hindsight, whole: Path, tmp_path: Path, case: str
) -> None:
    name, change, said = MISSHAPEN[case]
    lines = whole.read_bytes().splitlines()[:-1]
    number = next(n for n, line in enumerate(lines) if line.startswith(b'{"%s"' % name.encode()))
    line = json.loads(lines[number])
    change(line[name])
    lines[number] = json.dumps(line).encode()
    message = refused(home, signed(lines), tmp_path)
    assert f"line {number + 1}: " in message
    assert re.search(said, message)


def test_a_sound_file_whose_parts_contradict_each_other_leaves_nothing(
    home: Hindsight, whole: Path, tmp_path: Path
) -> None:
    lines = whole.read_bytes().splitlines()[:-1]
    (tmp_path / "doubled").write_bytes(signed([*lines, lines[-1], lines[1]]))
    before = home.banks.list(), home.runtime.index.keys()
    with pytest.raises(StoreError, match="contradicts itself"):
        import_(home, tmp_path / "doubled", "doubled")
    assert (home.banks.list(), home.runtime.index.keys()) == before


def test_a_file_that_is_not_there_is_named(memory: Hindsight, tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match=r"none' cannot be read: No such file"):
        import_(memory, tmp_path / "none")
    with pytest.raises(InvalidInputError, match="cannot be read: Is a directory"):
        import_(memory, tmp_path)


def poisoned(whole: Path, kind: str, change: Callable[[dict[str, Any]], None]) -> bytes:
    """The file with the first line of a kind changed, under a true checksum."""
    lines = whole.read_bytes().splitlines()[:-1]
    for number, line in enumerate(lines):
        content = json.loads(line)
        if kind in content:
            change(content[kind])
            lines[number] = json.dumps(content).encode()
            break
    return signed(lines)


def encoded(vector: object) -> str:
    return b64encode(np.asarray(vector, dtype="<f4").tobytes()).decode()


POISONS: dict[str, tuple[str, str, object, str]] = {
    "NaN": ("memory", "vector", encoded([float("nan")] * 384), "not finite"),
    "infinity": ("memory", "vector", encoded([float("inf")] * 384), "not finite"),
    "no direction": ("memory", "vector", encoded([0.0] * 384), "zero"),
    "cut tokens": ("memory", "interaction", "AAAA", "truncated"),
    "huge tokens": ("memory", "interaction", b64encode(bytes(10_400_000)).decode(), "bytes"),
    "many terms": ("memory", "lexemes", ["word"] * 200_000, "terms"),
    "a long term": ("memory", "lexemes", ["w" * 65], "term"),
    "a heavy link": ("link", "weight", 1e308, "weight"),
    "a negative link": ("link", "weight", -1.0, "weight"),
}


@pytest.mark.parametrize("poison", POISONS.values(), ids=POISONS)
def test_values_out_of_range_are_refused_even_under_a_true_checksum(
    home: Hindsight, whole: Path, tmp_path: Path, poison: tuple[str, str, object, str]
) -> None:
    kind, field, value, said = poison

    def change(content: dict[str, Any]) -> None:
        assert field in content
        content[field] = value

    assert said in refused(home, poisoned(whole, kind, change), tmp_path)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("text", "long " * 400_001),
        ("tags", [f"t{n}" for n in range(100_001)]),
        ("entities", [f"Zed {n}" for n in range(1001)]),
    ],
)
def test_a_memory_beyond_every_size_is_refused(
    home: Hindsight, whole: Path, tmp_path: Path, field: str, value: object
) -> None:
    def change(content: dict[str, Any]) -> None:
        assert field in content["memory"]
        content["memory"][field] = value

    assert "at most" in refused(home, poisoned(whole, "memory", change), tmp_path)


def _texts(content: Any, path: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    """Return where the texts of a line stand, one for each list."""
    if isinstance(content, str):
        return [path]
    if isinstance(content, dict):
        return [at for key, item in content.items() for at in _texts(item, (*path, key))]
    return _texts(content[0], (*path, 0)) if isinstance(content, list) and content else []


def _changed(line: bytes, path: Sequence[str | int], value: object) -> bytes:
    content = inner = json.loads(line)
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = value
    return json.dumps(content).encode()


def test_no_text_of_any_line_is_longer_than_a_store_could_have_made_it(
    home: Hindsight, whole: Path, tmp_path: Path
) -> None:
    """Ids, names, tags, profiles, reasons, quotations, histories: each has its limit."""
    lines = whole.read_bytes().splitlines()[:-1]
    kinds: dict[str, int] = {}
    for number, line in enumerate(lines):
        kinds.setdefault(next(iter(json.loads(line))), number)
    assert len(kinds) > 8
    for kind, number in kinds.items():
        paths = _texts(json.loads(lines[number])[kind], (kind,))
        assert paths
        for path in paths:
            if path[-1] in ("package", "vector", "interaction") or "embedder" in path:
                continue
            poison = list(lines)
            poison[number] = _changed(lines[number], path, "x" * 2_100_000)
            message = refused(home, signed(poison), tmp_path)
            assert f"line {number + 1}: " in message, path


@pytest.mark.parametrize(
    ("kind", "field", "value", "said"),
    [
        ("entity", "name", " ", "name is blank"),
        ("entity", "aliases", ["a"] * 100_001, "at most 100,000"),
        ("entity", "mention_count", -1, "at least 0"),
        ("document", "chunk_count", -1, "at least 0"),
        ("edited", "aliases", ["Anna", ""], "name is blank"),
        ("model", "max_tokens", -1, "at least 0"),
        ("audit", "fields", ["a"] * 100_001, "at most 100,000"),
    ],
)
def test_a_number_or_name_that_no_bank_has_is_refused(
    home: Hindsight, whole: Path, tmp_path: Path, kind: str, field: str, value: object, said: str
) -> None:
    def change(content: dict[str, Any]) -> None:
        assert field in content
        content[field] = value

    assert said in refused(home, poisoned(whole, kind, change), tmp_path)


def test_a_confidence_out_of_range_is_refused(home: Hindsight, whole: Path, tmp_path: Path) -> None:
    def change(content: dict[str, Any]) -> None:
        content["memory"]["confidence"] = 7.0

    said = refused(home, poisoned(whole, "memory", change), tmp_path)
    assert "confidence is 7.0" in said


def test_a_conclusion_without_evidence_is_refused(
    home: Hindsight, whole: Path, tmp_path: Path
) -> None:
    lines = whole.read_bytes().splitlines()[:-1]
    left = [line for line in lines if "evidence" not in json.loads(line)]
    assert len(left) < len(lines)
    for number, line in enumerate(left):
        content = json.loads(line)
        if "memory" in content and not content["memory"]["memory"]["sources"]:
            content["memory"]["memory"]["derived"] = True
            left[number] = json.dumps(content).encode()
            break
    assert "no evidence" in refused(home, signed(left), tmp_path)
