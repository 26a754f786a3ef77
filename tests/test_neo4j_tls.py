"""A memory on a Neo4j that takes TLS alone: whom each scheme trusts, and what a refusal says."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from socketserver import BaseRequestHandler, TCPServer
from threading import Thread

import pytest

from hindsight_integrations import Hindsight, Settings, StoreUnavailableError

from .stores.guarded import certificate
from .stores.neo4j_server import Server, or_skip

pytestmark = pytest.mark.xdist_group("Neo4j over TLS")

PASSWORD = "correct-horse-7"
TEXT = "Alice keeps bees in Porto."


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A certificate for 127.0.0.1, and not for localhost."""
    return certificate(tmp_path_factory.mktemp("authority"))


@pytest.fixture(scope="module")
def server(
    tmp_path_factory: pytest.TempPathFactory, authority: tuple[Path, Path]
) -> Iterator[Server]:
    server = Server(tmp_path_factory.mktemp("neo4j"), password=PASSWORD, secured=authority)
    with or_skip():
        server.start()
    yield server
    server.kill()


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """The credentials, and no authority but those the machine knows."""
    monkeypatch.setenv("NEO4J_USERNAME", "neo4j")
    monkeypatch.setenv("NEO4J_PASSWORD", PASSWORD)
    monkeypatch.delenv("NEO4J_DATABASE", raising=False)
    monkeypatch.delenv("SSL_CERT_FILE", raising=False)


@pytest.fixture
def trusted(authority: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    """The certificate's authority is known."""
    monkeypatch.setenv("SSL_CERT_FILE", str(authority[0]))


def refusal(folder: Path, uri: str) -> str:
    """Return the error message on opening; check that it does not contain the password."""
    with pytest.raises(StoreUnavailableError) as caught:
        Hindsight(folder, graph=uri)
    said = str(caught.value)
    assert said.startswith(f"Neo4j at {uri} (neo4j): ")
    assert PASSWORD not in said
    return said


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["neo4j+s", "neo4j+ssc", "bolt+s", "bolt+ssc"])
def test_a_memory_over_tls_is_used_like_any_other(
    server: Server, scheme: str, folder: Path, request: pytest.FixtureRequest
) -> None:
    if scheme.endswith("+s"):  # the others take any certificate
        request.getfixturevalue("trusted")
    uri = f"{scheme}://127.0.0.1:{server.port}"
    with Hindsight(folder, graph=uri, settings=Settings(consolidate=False)) as memory:
        assert uri in repr(memory)
        memory.retain(scheme, TEXT)
        assert [item.memory.text for item in memory.recall(scheme, "Who has bees?")] == [TEXT]


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["neo4j+s", "bolt+s"])
def test_a_certificate_of_nobody_known_is_refused_with_what_to_do(
    server: Server, scheme: str, folder: Path
) -> None:
    said = refusal(folder, f"{scheme}://127.0.0.1:{server.port}")
    assert "self-signed certificate" in said
    assert "the PEM file of its authority in SSL_CERT_FILE" in said


@pytest.mark.slow
@pytest.mark.usefixtures("trusted")
@pytest.mark.parametrize("scheme", ["neo4j+s", "bolt+s"])
def test_a_certificate_of_another_host_is_refused_with_what_to_do(
    server: Server, scheme: str, folder: Path
) -> None:
    said = refusal(folder, f"{scheme}://localhost:{server.port}")
    assert "give the host that it was made for" in said


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["neo4j", "bolt"])
def test_a_url_without_tls_is_refused_with_the_schemes_to_give(
    server: Server, scheme: str, folder: Path
) -> None:
    said = refusal(folder, f"{scheme}://127.0.0.1:{server.port}")
    assert "if it takes TLS alone, give neo4j+s:// or bolt+s://" in said


@pytest.mark.parametrize("scheme", ["neo4j+s", "bolt+ssc"])
def test_a_server_without_tls_is_refused_with_the_schemes_to_give(
    scheme: str, folder: Path
) -> None:
    with TCPServer(("127.0.0.1", 0), BaseRequestHandler) as plain:
        Thread(target=plain.serve_forever, daemon=True).start()
        said = refusal(folder, f"{scheme}://127.0.0.1:{plain.server_address[1]}")
        plain.shutdown()
    assert "if it has no TLS, give neo4j:// or bolt://" in said
