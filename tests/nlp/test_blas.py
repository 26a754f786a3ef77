"""numpy's matrix library is held to one core within a block, and let go after it."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np  # noqa: F401  # found if loaded
import pytest
from threadpoolctl import ThreadpoolController

BLAS = ThreadpoolController().select(user_api="blas").info()


ALONE = """
with one_core():
    assert threads() == {1}, threads()
assert threads() == {2}, threads()
try:
    with one_core():
        raise ValueError
except ValueError:
    assert threads() == {2}, threads()
"""

TOGETHER = """
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

first_in, second_in, first_out = Barrier(2), Barrier(2), Barrier(2)

def first():
    with one_core():
        first_in.wait(10)
        second_in.wait(10)
        assert threads() == {1}, threads()
    first_out.wait(10)

def second():
    first_in.wait(10)
    with one_core():
        second_in.wait(10)
        first_out.wait(10)

with ThreadPoolExecutor(2) as pool:
    for each in [pool.submit(first), pool.submit(second)]:
        each.result(20)
    assert threads() == {2}, threads()
    pool.submit(lambda: exec(ALONE, globals())).result(20)
assert threads() == {2}, threads()
"""


@pytest.mark.skipif(not BLAS, reason="numpy's BLAS on this machine has no threads to limit")
@pytest.mark.parametrize("code", [ALONE, TOGETHER], ids=["alone", "together"])
def test_a_block_holds_it_to_one_core_and_lets_go(code: str) -> None:
    before = f"""
import numpy
from threadpoolctl import threadpool_info
from hindsight_integrations.nlp.blas import one_core

def threads():
    return {{each["num_threads"] for each in threadpool_info() if each["user_api"] == "blas"}}

ALONE = {ALONE!r}
"""
    two = dict.fromkeys(("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS"), "2")
    subprocess.run([sys.executable, "-c", before + code], check=True, env={**os.environ, **two})
