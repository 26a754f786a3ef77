"""What Chroma's index does to its graph and its files, each tried in a process of its own.

A process has one set of threads that add vectors, made by whoever uses Chroma first.
"""

from __future__ import annotations

import ctypes
import subprocess
import sys
from pathlib import Path

import pytest

from hindsight_integrations.stores.chroma.blank_memory import blank_memory

WORD = b"quilverst"

glibc = pytest.mark.skipif(
    not hasattr(ctypes.CDLL(None), "gnu_get_libc_version"), reason="an option of glibc"
)

ALIKE = """
import numpy as np
from hindsight_integrations.stores.chroma.index import ChromaVectors

random = np.random.default_rng(7)
# As the sentences "Boat 3 is moored at pier 21." are: all alike, each more like some others.
points = np.ones(384) + random.normal(size=(8, 384))[np.arange(83) % 8] * 0.3
points = points + random.normal(size=(83, 384)) * 0.25
vectors = np.asarray(points / np.linalg.norm(points, axis=1, keepdims=True), dtype=np.float32)
ids = [f"m{n}" for n in range(83)]
for _ in range(60):
    index = ChromaVectors.in_memory()
    for start in range(0, 83, 20):
        index.upsert("bank", ids[start : start + 20], vectors[start : start + 20])
        index.query_many("bank", vectors[:1], 1)
    nearest = index.query_many("bank", vectors, 83)
    print(sum(all(id != found for found, _ in hits) for id, hits in zip(ids, nearest)))
    index.close()
"""

SOILED = f"""
import sys, tempfile, threading
from pathlib import Path
import numpy as np
from hindsight_integrations.stores.chroma.index import ChromaVectors

def soil():
    blocks = [{WORD!r} * (30_000 + n) for n in range(40)]
    kept.append(blocks[::8])
    del blocks[::8]

kept = []
vectors = np.eye(384, dtype=np.float32)[:83]
for n in range(20):
    big = bytearray(30 << 20)  # from now on glibc takes blocks of this size from its heap
    del big
    for _ in range(2):
        thread = threading.Thread(target=soil)
        thread.start()
        thread.join()
    soil()
    index = ChromaVectors.in_folder(Path(sys.argv[1]) / str(n))
    index.upsert("bank", [f"m{{n}}" for n in range(83)], vectors)
    index.query_many("bank", vectors, 5)
    index.close()
"""


def run(script: str, *arguments: str) -> str:
    command = [sys.executable, "-c", script, *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=120).stdout


@pytest.mark.slow
def test_a_search_reaches_every_vector_that_was_added_with_others() -> None:
    assert run(ALIKE).split() == ["0"] * 60


@pytest.mark.slow
@glibc
def test_no_file_has_text_that_the_process_let_go_of(tmp_path: Path) -> None:
    run(SOILED, str(tmp_path))
    files = [file for file in tmp_path.rglob("*") if file.is_file()]
    assert len(files) > 20
    assert [file for file in files if WORD in file.read_bytes()] == []


@glibc
def test_memory_is_blank_until_the_last_block_ends() -> None:
    library = ctypes.CDLL(None)
    library.malloc.restype = ctypes.c_void_p
    library.free.argtypes = [ctypes.c_void_p]
    size = 100_000

    def again() -> bytes:
        """Return what a block has that was written to and freed before."""
        first = library.malloc(size)
        ctypes.memset(first, ord("x"), size)
        library.free(first)
        block = library.malloc(size)
        held = ctypes.string_at(block, size)
        library.free(block)
        return held

    with blank_memory():
        with blank_memory():
            pass
        assert again() == bytes(size)
    assert b"xxxx" in again()
