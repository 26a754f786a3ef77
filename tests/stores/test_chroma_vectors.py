"""Chroma as a vector index: in memory, in a folder, at a server."""

from __future__ import annotations

import inspect
import logging
import os
import resource
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import chromadb
import chromadb.errors
import numpy as np
import pytest
from chromadb.api.models.Collection import Collection
from chromadb.api.types import QueryResult

from hindsight_integrations.errors import (
    InvalidInputError,
    StoreCorruptError,
    StoreError,
    StoreUnavailableError,
)
from hindsight_integrations.stores.chroma import embedded_spaces, served_spaces
from hindsight_integrations.stores.chroma.bank_collection import deleted_count, is_shared, keys_of
from hindsight_integrations.stores.chroma.client import CHROMA_ERRORS, store_error
from hindsight_integrations.stores.chroma.embedded_spaces import (
    OWN_FROM_IN_CROWD,
    RENEWED_FROM,
    SHARED_UP_TO,
    EmbeddedSpaces,
)
from hindsight_integrations.stores.chroma.index import ChromaVectors
from hindsight_integrations.stores.chroma.served_spaces import SHARED, ServedSpaces
from hindsight_integrations.stores.chroma.spaces import OWN_FROM, SEARCH_TRIES
from hindsight_integrations.stores.testing.vector_index import (
    VectorIndexContract,
    names,
    unit_vectors,
)

from .chroma_server import free_port, served
from .guarded import certificate, guarded

pytestmark = pytest.mark.xdist_group("Chroma")


def collections(folder: Path) -> dict[str, int]:
    """Name to vectors, as another reader of Chroma's files sees them."""
    code = (
        "import chromadb, json, sys\n"
        "client = chromadb.PersistentClient(sys.argv[1])\n"
        "print(json.dumps({c.name: c.count() for c in client.list_collections()}))"
    )
    run = subprocess.run(
        [sys.executable, "-c", code, str(folder)], capture_output=True, text=True, check=True
    )
    return dict(eval(run.stdout))


class TestInMemory(VectorIndexContract):
    @pytest.fixture
    def index(self) -> Iterator[ChromaVectors]:
        vectors = ChromaVectors.in_memory()
        yield vectors
        vectors.close()

    def test_two_in_memory_share_nothing(self, index: ChromaVectors) -> None:
        other = ChromaVectors.in_memory()
        foreign = chromadb.EphemeralClient()
        before = [collection.name for collection in foreign.list_collections()]
        index.upsert("a", ["x"], unit_vectors(1))
        assert other.keys() == set()
        assert [collection.name for collection in foreign.list_collections()] == before
        other.close()
        foreign.close()
        assert index.ids("a") == {"x"}


class TestInFolder(VectorIndexContract):
    @pytest.fixture
    def index(self, tmp_path: Path) -> Iterator[ChromaVectors]:
        vectors = ChromaVectors.in_folder(tmp_path / "dossiers é" / "chroma")
        yield vectors
        vectors.close()


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with served(tmp_path_factory.mktemp("server")) as url:
        yield url


@pytest.mark.slow
class TestAtServer(VectorIndexContract):
    @pytest.fixture
    def index(self, url: str) -> Iterator[ChromaVectors]:
        vectors = ChromaVectors.at_server(url, namespace=f"test{time.monotonic_ns()}")
        yield vectors
        vectors.close()

    def test_two_clients_see_what_the_other_wrote_and_dropped(self, url: str) -> None:
        one, other = (ChromaVectors.at_server(url, namespace="both") for _ in range(2))
        vectors = unit_vectors(3)
        one.upsert("a", names(3), vectors)
        assert other.query("a", vectors[1], 1)[0][0] == "m1"
        one.drop("a")
        assert other.query("a", vectors[1], 1) == []
        other.upsert("a", ["new"], vectors[:1])
        assert one.ids("a") == {"new"}
        one.close()
        other.close()

    def test_small_spaces_share_collections_and_are_gone_when_dropped(
        self, index: ChromaVectors, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(served_spaces, "SHARED", SHARED // 8)
        vectors, keys = unit_vectors(20), [f"bank {n}" for n in range(SHARED // 4)]
        for key in keys:
            index.upsert(key, names(20), vectors)
        assert len(index._client.collections()) <= SHARED // 8
        assert index.keys() == set(keys)
        assert index.query(keys[7], vectors[3], 1)[0][0] == "m3"
        for key in keys:
            index.drop(key)
        assert index.keys() == set()
        assert sum(each.count() for each in index._client.collections()) == 0

    def test_a_space_that_one_client_moves_is_followed_by_the_other(self, url: str) -> None:
        one, other, third = (ChromaVectors.at_server(url, namespace="moves") for _ in range(3))
        vectors = unit_vectors(OWN_FROM + 20)
        for index in (one, other, third):
            index.upsert("a", ["first"], vectors[-1:])
        (shared,) = one._client.collections()
        assert shared.count() == 1
        one.upsert("a", names(OWN_FROM), vectors[:OWN_FROM])
        assert other.query("a", vectors[3], 1)[0][0] == "m3"
        assert other.ids("a") == {"first", *names(OWN_FROM)}
        third.delete("a", ["first"])
        third.upsert("a", ["last"], vectors[-2:-1])
        assert all(each.ids("a") == {"last", *names(OWN_FROM)} for each in (one, other, third))
        one.drop("a")
        assert all(each.query("a", vectors[3], 1) == [] for each in (one, other, third))
        for index in (one, other, third):
            index.close()

    @pytest.mark.parametrize("moment", ["copied", "labelled", "told"])
    def test_what_others_do_while_a_space_moves_is_kept(
        self, url: str, monkeypatch: pytest.MonkeyPatch, moment: str
    ) -> None:
        name = f"between-{moment}"
        one, other = (ChromaVectors.at_server(url, namespace=name) for _ in range(2))
        vectors = unit_vectors(OWN_FROM + 30)
        for index in (one, other):
            index.upsert("a", names(10), vectors[:10])
        between = {"copied": "_own_collection", "labelled": "_transfer", "told": "_rows"}[moment]
        place = served_spaces if moment == "told" else ServedSpaces
        plain, calls = getattr(place, between), []

        def interrupted(*arguments: object) -> object:
            calls.append(arguments)
            if len(calls) == (2 if moment == "told" else 1):
                other.delete("a", ["m3"])
                other.upsert("a", ["m4", "late"], vectors[-2:])
            return plain(*arguments)

        monkeypatch.setattr(place, between, interrupted)
        one.upsert("a", names(OWN_FROM, start=10), vectors[10 : OWN_FROM + 10])
        monkeypatch.undo()
        left = {"late", *names(OWN_FROM + 10)} - {"m3"}
        with closing(ChromaVectors.at_server(url, namespace=name)) as third:
            for index in (one, other, third):
                assert index.ids("a") == left
                assert index.query("a", vectors[-2], 1)[0][0] == "m4"
                assert index.query("a", vectors[-1], 1)[0][0] == "late"
        one.close()
        other.close()

    def test_clients_that_write_and_delete_while_spaces_move_lose_nothing(self, url: str) -> None:
        vectors, keys = unit_vectors(100), ["a", "b"]

        def work(number: int) -> None:
            with closing(ChromaVectors.at_server(url, namespace="crowd")) as index:
                for start in range(0, 100, 20):
                    for key in keys:
                        ids = [f"{number}-{n}" for n in range(start, start + 20)]
                        index.upsert(key, ids, vectors[start : start + 20])
                        index.delete(key, ids[:2])
                        found = index.query(key, vectors[start + 5], 12)
                        assert ids[5] in {name for name, _ in found}

        with ThreadPoolExecutor(4) as clients:
            list(clients.map(work, range(4)))
        written = {f"{number}-{n}" for number in range(4) for n in range(100) if n % 20 > 1}
        with closing(ChromaVectors.at_server(url, namespace="crowd")) as index:
            assert {key: index.ids(key) ^ written for key in keys} == {key: set() for key in keys}
            assert index.keys() == set(keys)

    def test_a_move_that_was_cut_short_is_ended_by_the_next_write(
        self, url: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        vectors = unit_vectors(OWN_FROM + 20)

        def killed(*arguments: object) -> None:
            raise KeyboardInterrupt

        for stop in ("_own_collection", "_transfer"):
            namespace = f"cut{stop}"
            with monkeypatch.context() as patched:
                patched.setattr(ServedSpaces, stop, killed)
                one = ChromaVectors.at_server(url, namespace=namespace)
                one.upsert("a", names(10), vectors[:10])
                with pytest.raises(KeyboardInterrupt):
                    one.upsert("a", names(OWN_FROM, start=10), vectors[10 : OWN_FROM + 10])
                one.close()
            with closing(ChromaVectors.at_server(url, namespace=namespace)) as index:
                assert index.ids("a") == set(names(10))
                index.upsert("a", names(OWN_FROM, start=10), vectors[10 : OWN_FROM + 10])
                assert index.ids("a") == set(names(OWN_FROM + 10))
                assert index.query("a", vectors[4], 1)[0][0] == "m4"

    def test_an_embedded_folder_can_be_served(self, tmp_path: Path) -> None:
        vectors = unit_vectors(50)
        embedded = ChromaVectors.in_folder(tmp_path)
        embedded.upsert("a", names(50), vectors)
        embedded.upsert("b", names(10), vectors[:10])
        embedded.close()
        with served(tmp_path) as url:
            one, other = (ChromaVectors.at_server(url) for _ in range(2))
            for index in (one, other):
                assert index.keys() == {"a", "b"}
                assert index.query("a", vectors[20], 1)[0][0] == "m20"
            one.close()
            other.close()


# A server on an open network


TOKEN = "correct-horse-7"


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    return certificate(tmp_path_factory.mktemp("authority"))


@pytest.fixture(scope="module")
def secured(url: str, authority: tuple[Path, Path]) -> Iterator[str]:
    with guarded(int(url.rpartition(":")[2]), TOKEN, authority) as address:
        yield address


@pytest.mark.slow
@pytest.mark.parametrize("how", ["file", "environment", "unchecked"])
def test_a_server_behind_tls_and_a_token_is_used_like_any_other(
    secured: str,
    authority: tuple[Path, Path],
    how: str,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG)
    if how == "environment":
        monkeypatch.setenv("SSL_CERT_FILE", str(authority[0]))
    verify: dict[str, bool | str] = {"file": str(authority[0]), "unchecked": False}
    index = ChromaVectors.at_server(
        secured, token=TOKEN, verify=verify.get(how, True), namespace=f"tls-{how}"
    )
    index.upsert("a", names(3), unit_vectors(3))
    assert index.query("a", unit_vectors(3)[1], 1)[0][0] == "m1"
    index.delete("a", ["m1"])
    assert index.ids("a") == {"m0", "m2"}
    index.drop("a")
    assert index.keys() == set()
    index.close()
    assert secured in repr(index)
    assert TOKEN not in repr(index) + repr(vars(index)) + caplog.text


@pytest.mark.slow
@pytest.mark.parametrize("token", ["wrong-donkey-9", None])
def test_a_wrong_token_is_named_but_not_shown(
    secured: str,
    authority: tuple[Path, Path],
    token: str | None,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG)
    with pytest.raises(StoreUnavailableError, match=r"HTTP 401.*CHROMA_TOKEN") as caught:
        ChromaVectors.at_server(secured, token=token, verify=str(authority[0]))
    assert "wrong-donkey" not in str(caught.value) + repr(caught.value.__cause__) + caplog.text


@pytest.mark.slow
def test_a_certificate_of_nobody_known_is_refused_with_what_to_do(secured: str) -> None:
    with pytest.raises(StoreUnavailableError, match=r"CERTIFICATE_VERIFY_FAILED.*SSL_CERT_FILE"):
        ChromaVectors.at_server(secured, token=TOKEN)


@pytest.mark.parametrize("written", [None, "no certificate"])
def test_a_file_of_authorities_that_cannot_be_used_is_refused(
    tmp_path: Path, written: str | None
) -> None:
    file = tmp_path / "authorities.pem"
    if written is not None:
        file.write_text(written)
    with pytest.raises(InvalidInputError, match=r"authorities\.pem.*PEM"):
        ChromaVectors.at_server("https://localhost", verify=str(file))


@pytest.mark.parametrize("token", ["s3cret\n", "s3crét"])
def test_a_token_that_no_header_can_carry_is_refused_and_not_shown(token: str) -> None:
    with pytest.raises(InvalidInputError, match="one line") as caught:
        ChromaVectors.at_server("http://localhost:8000", token=token)
    assert "s3cr" not in str(caught.value)


@pytest.mark.slow
@pytest.mark.parametrize("page", ["index.html", "api/v2/heartbeat"])
def test_a_server_of_something_else_is_told_from_chroma(tmp_path: Path, page: str) -> None:
    """With no such path (an old release), or with some page under it."""
    (tmp_path / page).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / page).write_text("<p>Welcome!" + " " * 9_999)
    files = partial(SimpleHTTPRequestHandler, directory=str(tmp_path))
    with ThreadingHTTPServer(("127.0.0.1", 0), files) as other:
        threading.Thread(target=other.serve_forever, daemon=True).start()
        with pytest.raises(StoreUnavailableError, match="no Chroma server of release 1") as caught:
            ChromaVectors.at_server(f"http://127.0.0.1:{other.server_port}")
        other.shutdown()
    assert len(str(caught.value)) < 999


def test_collections_are_cosine_with_the_settings_asked_for(tmp_path: Path) -> None:
    index = ChromaVectors.in_folder(tmp_path)
    index.upsert("small", names(5), unit_vectors(5))
    index.upsert("big", names(OWN_FROM), unit_vectors(OWN_FROM))
    index.close()
    client = chromadb.PersistentClient(tmp_path)
    for collection in client.list_collections():
        hnsw = collection.configuration["hnsw"]
        assert hnsw is not None
        assert hnsw["space"] == "cosine"
        assert (hnsw["max_neighbors"], hnsw["ef_construction"], hnsw["ef_search"]) == (32, 200, 200)
    client.close()


@pytest.mark.slow
def test_small_spaces_share_a_collection_and_move_out_as_they_grow(tmp_path: Path) -> None:
    vectors = unit_vectors(OWN_FROM + 100)
    index = ChromaVectors.in_folder(tmp_path)
    for key in "abc":
        index.upsert(key, names(100), vectors[:100])
    index.upsert("a", names(OWN_FROM - 110, start=100), vectors[100 : OWN_FROM - 10])
    assert len(index.ids("a")) == OWN_FROM - 10
    index.close()
    assert sorted(collections(tmp_path).values()) == [OWN_FROM + 190]

    index = ChromaVectors.in_folder(tmp_path)
    index.upsert("a", names(60, start=OWN_FROM - 10), vectors[OWN_FROM - 10 : OWN_FROM + 50])
    assert index.ids("a") == set(names(OWN_FROM + 50))
    assert index.query("a", vectors[3], 1)[0][0] == "m3"
    assert index.keys() == {"a", "b", "c"}
    index.close()
    assert sorted(collections(tmp_path).values()) == [200, OWN_FROM + 50]


@pytest.mark.slow
def test_among_many_only_the_big_have_a_collection_of_their_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(embedded_spaces, "CROWDED", many := 8)
    vectors = unit_vectors(OWN_FROM_IN_CROWD, dimension=4)
    index = ChromaVectors.in_folder(tmp_path)
    for bank in range(many + 3):
        index.upsert(f"b{bank}", names(OWN_FROM), vectors[:OWN_FROM])
    last = f"b{many + 2}"
    index.upsert(last, names(OWN_FROM_IN_CROWD), vectors)
    assert index.query(last, vectors[3], 1)[0][0] == "m3"
    assert index.ids(f"b{many}") == set(names(OWN_FROM))
    index.close()
    sizes = sorted(collections(tmp_path).values())
    assert sizes == [OWN_FROM] * many + [2 * OWN_FROM, OWN_FROM_IN_CROWD]


@pytest.mark.slow
def test_a_shared_collection_goes_with_its_last_space(tmp_path: Path) -> None:
    vectors = unit_vectors(3, dimension=4)
    index = ChromaVectors.in_folder(tmp_path)
    for bank in ("a", "b"):
        index.upsert(bank, names(3), vectors)
    index.drop("a")
    assert index.ids("b") == set(names(3))
    index.drop("b")
    index.upsert("c", names(2), vectors[:2])
    index.close()
    assert list(collections(tmp_path).values()) == [2]


@pytest.mark.slow
def test_no_shared_collection_grows_without_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(embedded_spaces, "CROWDED", 0)
    monkeypatch.setattr(embedded_spaces, "SHARED_UP_TO", most := 1000)
    vectors = unit_vectors(180, dimension=4)
    index = ChromaVectors.in_folder(tmp_path)
    for start in range(0, 180, 60):
        for bank in range(7):
            index.upsert(f"b{bank}", names(60, start=start), vectors[start : start + 60])
    assert all(index.ids(f"b{bank}") == set(names(180)) for bank in range(7))
    index.close()
    sizes = collections(tmp_path)
    assert len(sizes) < 7
    assert max(sizes.values()) <= most
    assert sum(sizes.values()) == 7 * 180


@pytest.mark.slow
def test_what_is_taken_out_of_a_shared_collection_does_not_gather(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else each vector added later walks over all of it."""
    half, most = 100, 1000
    monkeypatch.setattr(embedded_spaces, "CROWDED", 0)
    monkeypatch.setattr(embedded_spaces, "OWN_FROM_IN_CROWD", 2 * half)
    monkeypatch.setattr(embedded_spaces, "SHARED_UP_TO", most)
    monkeypatch.setattr(embedded_spaces, "RENEWED_FROM", most * RENEWED_FROM // SHARED_UP_TO)
    vectors = unit_vectors(2 * half, dimension=4)
    index = ChromaVectors.in_folder(tmp_path)
    index.upsert("small", names(3), vectors[:3])
    for bank in range(9):
        for start in (0, half):
            index.upsert(f"b{bank}", names(half, start), vectors[start : start + half])
    index.upsert("small", names(1, start=3), vectors[3:4])
    shared = [each for each in index._client.collections() if is_shared(each)]
    assert sum(map(deleted_count, shared)) < most
    assert [key for each in shared for key in keys_of(each)] == ["small"]
    assert index.ids("small") == set(names(4))
    index.close()
    index = ChromaVectors.in_folder(tmp_path)
    assert index.ids("small") == set(names(4))
    assert all(index.ids(f"b{bank}") == set(names(2 * half)) for bank in range(9))
    index.close()


@pytest.mark.slow
def test_a_collection_of_which_little_is_left_is_made_again(tmp_path: Path) -> None:
    vectors = unit_vectors(OWN_FROM, dimension=4)
    index = ChromaVectors.in_folder(tmp_path)
    places, written, gone = [], 0, 0
    while len(dict.fromkeys(places)) < 3 and written < 10 * RENEWED_FROM:
        index.upsert("a", names(OWN_FROM, start=written), vectors)
        index.delete("a", names(OWN_FROM - 1, start=written))
        written += OWN_FROM
        (own,) = index._client.collections()
        places.append(own.id)
        gone = max(gone, deleted_count(own))
    assert RENEWED_FROM < gone < RENEWED_FROM + 2 * OWN_FROM
    left = {f"m{n}" for n in range(OWN_FROM - 1, written, OWN_FROM)}
    assert index.ids("a") == left
    index.close()
    index = ChromaVectors.in_folder(tmp_path)
    assert index.ids("a") == left
    assert index.query("a", vectors[-1], 1)[0][1] == pytest.approx(1)
    index.drop("a")
    assert index._client.collections() == []
    index.close()


@pytest.mark.slow
@pytest.mark.parametrize("stop", ["_unlabel", "_note_deleted"])
def test_a_collection_that_was_not_quite_made_again_is_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stop: str
) -> None:
    vectors = unit_vectors(OWN_FROM, dimension=4)
    monkeypatch.setattr(embedded_spaces, "RENEWED_FROM", OWN_FROM)
    index = ChromaVectors.in_folder(tmp_path)
    index.upsert("other", names(3), vectors[:3])
    index.upsert("a", names(OWN_FROM), vectors)
    index.delete("a", names(OWN_FROM - 1))
    index.upsert("a", names(20, start=OWN_FROM), vectors[:20])
    index.delete("a", names(19, start=OWN_FROM))

    def killed(*arguments: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(EmbeddedSpaces, stop, killed)
        with pytest.raises(KeyboardInterrupt):
            index.upsert("a", ["m9"], vectors[:1])
    index.close()
    index = ChromaVectors.in_folder(tmp_path)
    index.upsert("a", ["m9"], vectors[:1])
    assert index.ids("a") == {f"m{OWN_FROM - 1}", f"m{OWN_FROM + 19}", "m9"}
    assert len(index.query("a", vectors[0], 5)) == 3
    assert len(index._client.collections()) == 2
    index.close()


KILLED_WHILE_MOVING = """
import os, sys
from hindsight_integrations.stores.chroma.bank_collection import BankCollection
from hindsight_integrations.stores.chroma.index import ChromaVectors
from hindsight_integrations.stores.testing.vector_index import names, unit_vectors

folder, stop = sys.argv[1], sys.argv[2]
done = getattr(BankCollection, stop)

def killed(self, *args):
    own = not self.is_shared
    if stop == "copy" and own:
        done(self, args[0][:100], args[1][:100])
        os._exit(9)
    if stop == "delete":
        done(self, args[0][:100])
        os._exit(9)
    return done(self, *args)

setattr(BankCollection, stop, killed)
index = ChromaVectors.in_folder(folder)
index.upsert("other", names(10), unit_vectors(10))
for start in range(0, 400, 200):
    index.upsert("a", names(200, start=start), unit_vectors(400)[start : start + 200])
"""


@pytest.mark.slow
@pytest.mark.parametrize("stop", ["copy", "delete"])
def test_a_move_cut_short_is_ended_at_the_next_start(tmp_path: Path, stop: str) -> None:
    folder = tmp_path / "chroma"
    run = subprocess.run([sys.executable, "-c", KILLED_WHILE_MOVING, str(folder), stop])
    assert run.returncode == 9
    index = ChromaVectors.in_folder(folder)
    assert index.keys() == {"a", "other"}
    assert index.ids("a") == set(names(400))
    assert [n for n, _ in index.query("a", unit_vectors(400)[300], 1)] == ["m300"]
    assert index.ids("other") == set(names(10))
    index.close()
    assert sorted(collections(folder).values()) == [10, 400]


@pytest.mark.slow
def test_a_space_can_be_searched_while_it_moves() -> None:
    vectors = unit_vectors(600)
    index = ChromaVectors.in_memory()
    index.upsert("a", names(200), vectors[:200])
    short: list[int] = []
    stop = threading.Event()

    def search() -> None:
        while not stop.is_set():
            found = index.query("a", vectors[7], 150)
            if len(found) != 150 or found[0][0] != "m7":
                short.append(len(found))

    searcher = threading.Thread(target=search)
    searcher.start()
    for start in range(200, 600, 20):  # it moves on the way
        index.upsert("a", names(20, start=start), vectors[start : start + 20])
    stop.set()
    searcher.join()
    index.close()
    assert short == []


@pytest.mark.parametrize(
    "message", ["Error finding id m7", "Missing field: [Missing metadata segment]"]
)
def test_a_search_that_misses_what_was_just_removed_is_made_again(
    monkeypatch: pytest.MonkeyPatch, message: str
) -> None:
    index = ChromaVectors.in_memory()
    index.upsert("a", names(20), unit_vectors(20))
    failing = [SEARCH_TRIES - 1]
    search = Collection.query

    def query(self: Collection, *args: Any, **kwargs: Any) -> QueryResult:
        if failing[0]:
            failing[0] -= 1
            raise chromadb.errors.InternalError(message)
        return search(self, *args, **kwargs)

    monkeypatch.setattr(Collection, "query", query)
    assert index.query("a", unit_vectors(20)[7], 1)[0][0] == "m7"
    failing[0] = SEARCH_TRIES
    with pytest.raises(StoreCorruptError, match="open it again"):
        index.query("a", unit_vectors(20)[7], 1)
    index.close()


def test_everything_is_there_again_after_closing(tmp_path: Path) -> None:
    vectors = unit_vectors(OWN_FROM + 30)
    index = ChromaVectors.in_folder(tmp_path)
    index.upsert("big", names(OWN_FROM), vectors[:OWN_FROM])
    index.upsert("big", names(30, start=OWN_FROM), vectors[OWN_FROM:])
    index.upsert("small", names(30), vectors[:30])
    index.close()
    index = ChromaVectors.in_folder(tmp_path)
    assert index.keys() == {"big", "small"}
    assert index.query("big", vectors[OWN_FROM + 20], 1)[0][0] == f"m{OWN_FROM + 20}"
    assert index.query("small", vectors[20], 1)[0][0] == "m20"
    index.close()


def test_a_dropped_space_leaves_no_files(tmp_path: Path) -> None:
    index = ChromaVectors.in_folder(tmp_path)
    index.upsert("kept", names(OWN_FROM), unit_vectors(OWN_FROM))
    index.close()
    before = {path.name for path in tmp_path.iterdir()}
    index = ChromaVectors.in_folder(tmp_path)
    index.upsert("gone", names(OWN_FROM), unit_vectors(OWN_FROM))
    index.drop("gone")
    index.close()
    assert {path.name for path in tmp_path.iterdir()} == before


@pytest.mark.slow
def test_no_vector_is_lost_where_there_are_many_spaces_and_few_open_files() -> None:
    """Chroma unloads indexes beyond a fifth of the limit, with what is not on the disk yet."""
    code = """
import resource, sys, tempfile
resource.setrlimit(resource.RLIMIT_NOFILE, (128, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
from hindsight_integrations.stores.chroma.index import ChromaVectors
from hindsight_integrations.stores.testing.vector_index import names, unit_vectors
vectors = unit_vectors(1200, dimension=4)
with tempfile.TemporaryDirectory() as folder:
    index = ChromaVectors.in_folder(folder)
    for bank in range(30):
        index.upsert(f"big{bank}", names(1000), vectors[:1000])
        index.upsert(f"big{bank}", names(200, start=1000), vectors[1000:])
    for bank in range(20):
        index.upsert(f"small{bank}", names(3), vectors[:3])
    for _ in range(2):
        for bank in range(30):
            assert len(index.query(f"big{bank}", vectors[1150], 1200)) == 1200, bank
        for bank in range(20):
            assert len(index.query(f"small{bank}", vectors[0], 9)) == 3, bank
    index.close()
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_every_error_of_chroma_is_mapped() -> None:
    public = {
        name
        for name, value in vars(chromadb.errors).items()
        if inspect.isclass(value) and issubclass(value, chromadb.errors.ChromaError)
    }
    assert set(CHROMA_ERRORS) == public | {"PanicException"}
    for name in public:
        error = getattr(chromadb.errors, name)("said so")
        mapped = store_error(error, "here")
        assert type(mapped) is CHROMA_ERRORS[name]
        assert "here" in str(mapped)
        assert "said so" in str(mapped)


def test_a_panic_of_chroma_is_a_store_error_and_an_interrupt_is_not() -> None:
    panic = type("PanicException", (BaseException,), {})
    assert isinstance(store_error(panic("index out of bounds"), "here"), StoreCorruptError)
    for error in (KeyboardInterrupt(), SystemExit(), MemoryError(), AssertionError()):
        assert store_error(error, "here") is None


@pytest.mark.parametrize(
    ("said", "kind"),
    [
        ("error returned from database: (code: 11) database disk image is malformed", "corrupt"),
        ("Error loading hnsw index", "corrupt"),
        ("Error opening pickle file: Too many open files (os error 24)", "unavailable"),
        ("error returned from database: (code: 13) database or disk is full", "unavailable"),
        ("attempt to write a readonly database", "unavailable"),
    ],
)
def test_an_internal_error_is_corruption_unless_the_machine_is_at_fault(
    said: str, kind: str
) -> None:
    wanted = StoreCorruptError if kind == "corrupt" else StoreUnavailableError
    assert type(store_error(chromadb.errors.InternalError(said), "here")) is wanted


def test_vectors_of_another_dimension_are_refused() -> None:
    index = ChromaVectors.in_memory()
    index.upsert("a", ["x"], unit_vectors(1))
    with pytest.raises(StoreError, match="dimension"):
        index.upsert("a", ["y"], unit_vectors(1, dimension=7))
    with pytest.raises(StoreError, match="dimension"):
        index.query("a", unit_vectors(1, dimension=7)[0], 1)
    assert index.ids("a") == {"x"}
    index.close()


def test_a_vector_of_another_dimension_replaces_none() -> None:
    index = ChromaVectors.in_memory()
    index.upsert("a", ["x"], unit_vectors(1))
    with pytest.raises(StoreError, match="dimension"):
        index.upsert("a", ["x"], unit_vectors(1, dimension=7))
    assert index.query("a", unit_vectors(1)[0], 1)[0][1] == pytest.approx(1)
    index.close()


def test_only_what_changes_is_written_again() -> None:
    index = ChromaVectors.in_memory()
    vectors = unit_vectors(OWN_FROM)
    index.upsert("a", names(OWN_FROM), vectors)
    index.upsert("a", names(OWN_FROM), 2 * vectors)
    (own,) = index._client.collections()
    assert deleted_count(own) == 0
    changed = vectors.copy()
    changed[3] = -vectors[3]
    index.upsert("a", names(OWN_FROM), changed)
    (own,) = index._client.collections()
    assert deleted_count(own) == 1
    assert index.ids("a") == set(names(OWN_FROM))
    assert [row[0][0] for row in index.query_many("a", changed, 1)] == names(OWN_FROM)
    index.close()


@pytest.mark.slow
def test_vectors_that_are_changed_hide_no_others() -> None:
    """hnswlib, when it changes a point in place, may cut the way to others."""
    random = np.random.default_rng(1)
    alike = random.normal(size=384) + 0.1 * random.normal(size=(500, 384))
    vectors = alike.astype(np.float32)
    index = ChromaVectors.in_memory()
    index.upsert("a", names(500), vectors)
    for _ in range(120):
        some = random.choice(500, 25, replace=False)
        vectors[some] *= 1 + 0.004 * random.normal(size=(25, 384)).astype(np.float32)
        index.upsert("a", [f"m{n}" for n in some], vectors[some])
    found = index.query_many("a", vectors, 500)
    assert sum(f"m{n}" not in dict(hits) for n, hits in enumerate(found)) <= 1
    index.close()


def test_a_folder_that_cannot_be_used_is_unavailable(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(StoreUnavailableError, match="file"):
        ChromaVectors.in_folder(tmp_path / "file" / "chroma")


def test_damaged_tables_are_told_and_the_path_stays_usable(tmp_path: Path) -> None:
    folder = tmp_path / "chroma"
    folder.mkdir()
    (folder / "chroma.sqlite3").write_bytes(os.urandom(8_192))
    with pytest.raises(StoreCorruptError, match="rebuilt"):
        ChromaVectors.in_folder(folder)
    shutil.rmtree(folder)
    index = ChromaVectors.in_folder(folder)
    index.upsert("a", ["x"], unit_vectors(1))
    assert index.ids("a") == {"x"}
    index.close()


def test_a_server_that_is_not_there_is_unavailable() -> None:
    url = f"http://127.0.0.1:{free_port()}"
    with pytest.raises(StoreUnavailableError, match=url) as caught:
        ChromaVectors.at_server(url, token="s3cret")
    assert "s3cret" not in str(caught.value)


@pytest.mark.parametrize(
    "url", ["", "localhost:8000", "ftp://host", "http://", "http://host:99999", "http://host:x"]
)
def test_a_url_that_names_no_server_is_refused(url: str) -> None:
    with pytest.raises(InvalidInputError, match="http://localhost:8000"):
        ChromaVectors.at_server(url)


def test_credentials_in_a_url_are_refused_and_not_repeated() -> None:
    with pytest.raises(InvalidInputError, match=r"CHROMA_TOKEN.*token=") as caught:
        ChromaVectors.at_server("http://me:s3cret@host:8000")
    assert "s3cret" not in str(caught.value)


def test_chroma_is_not_imported_before_it_is_used() -> None:
    code = "import sys, hindsight_integrations.stores.sync;sys.exit('chromadb' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_the_limit_of_open_files_is_left_alone_without_need() -> None:
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    index = ChromaVectors.in_memory()
    index.upsert("a", ["x"], unit_vectors(1))
    assert resource.getrlimit(resource.RLIMIT_NOFILE) == before
    index.close()


def test_no_vector_is_far_from_itself_in_an_index_of_many() -> None:
    """Settings too weak show as vectors that do not find themselves."""
    vectors = unit_vectors(3_000)
    index = ChromaVectors.in_memory()
    index.upsert("a", names(3_000), vectors)
    sample = np.arange(0, 3_000, 37)
    hits = index.query_many("a", vectors[sample], 1)
    assert [row[0][0] for row in hits] == [f"m{n}" for n in sample]
    index.close()


def test_constants_leave_room_to_grow_in_a_shared_collection() -> None:
    assert embedded_spaces.OWN_FROM_IN_CROWD * 2 <= embedded_spaces.SHARED_UP_TO // 2
