"""A real Neo4j for tests: its jars from Maven, one server for all tests of a process.

Set `NEO4J_URI` (with `NEO4J_USERNAME`, `NEO4J_PASSWORD`, `NEO4J_DATABASE`) to use a server that
runs already; its database has to be empty, and is emptied after each test. Without Java, Maven or
a network the tests are skipped, unless `HINDSIGHT_REQUIRE_NEO4J=1` makes that a failure.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import neo4j
import pytest
from filelock import FileLock
from neo4j.exceptions import Neo4jError, ServiceUnavailable, SessionExpired

from hindsight_integrations.stores.neo4j import Neo4jGraph

from .chroma_server import free_port

VERSION = "5.26.30"
CACHE = Path("~/.cache/hindsight-integrations").expanduser()

_APOC = "5.26.19"
_JARS = tuple(
    f"{name}:{VERSION}"
    for name in ("org.neo4j:neo4j", "org.neo4j:neo4j-bolt", "org.neo4j.app:neo4j-server")
)
_START_SECONDS = 120
_QUICK_START = (
    *("-XX:TieredStopAtLevel=1", "-XX:ReservedCodeCacheSize=240m", "-XX:+UseSerialGC"),
    *("-XX:+UnlockDiagnosticVMOptions", "-XX:-BytecodeVerificationRemote"),
)
"""Compile code once and quickly: a server lives too short to gain by more, and starts in half the
time. Leave the compiled code as much room as it has without that option: in the smaller one, code
was thrown away and compiled again. Collect garbage in one thread: tests have few cores. Do not
verify the bytecode of the jars, which takes an eighth of a start."""

_PLAN_ONCE = {
    "dbms.cypher.min_replan_interval": "1d",
    "dbms.cypher.statistics_divergence_threshold": "1.0",
}
"""Keep the plan of a statement: a test empties the database that the next one fills, so the server
would plan each statement again all the time, which took three quarters of its CPU time."""

_POM = """<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>tests</groupId><artifactId>neo4j-server</artifactId><version>1</version>
  <dependencies>{}</dependencies>
</project>"""


class CannotStartError(Exception):
    """This machine cannot run a Neo4j server."""


@dataclass(frozen=True, slots=True)
class Address:
    """Address and credentials of a database."""

    uri: str
    user: str | None = None
    password: str | None = None
    database: str = "neo4j"

    def graph(self) -> Neo4jGraph:
        """Open the store there."""
        return Neo4jGraph(self.uri, user=self.user, password=self.password, database=self.database)

    def run(self, cypher: str, **params: Any) -> list[neo4j.Record]:
        """A statement past the store."""
        auth = (self.user or "neo4j", self.password) if self.password else None
        with neo4j.GraphDatabase.driver(
            self.uri, auth=auth, notifications_min_severity="OFF", max_transaction_retry_time=0
        ) as driver:
            return driver.execute_query(cypher, params, database_=self.database).records


class Server:
    """A Neo4j in `home`, on a port of its own that it keeps when it is started again.

    With a certificate and its key, it speaks TLS and nothing else. `plugins` is a folder of jars.
    `lasting` is for one that is used for longer than a test, with the memory that the variables of
    compose.yaml say.
    """

    def __init__(
        self,
        home: Path,
        *,
        password: str | None = None,
        secured: tuple[Path, Path] | None = None,
        plugins: Path | None = None,
        lasting: bool = False,
    ) -> None:
        self.home = home
        self.port = free_port()
        self._password = password
        self._secured = secured
        self._plugins = plugins
        self._lasting = lasting
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def address(self) -> Address:
        scheme = "bolt+ssc" if self._secured else "bolt"
        return Address(f"{scheme}://127.0.0.1:{self.port}", "neo4j", self._password)

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    def start(self) -> None:
        """Start the server, or start it again; returns when it answers."""
        is_new = not (self.home / "data").exists()
        (self.home / "conf").mkdir(parents=True, exist_ok=True)
        library = jars()
        settings = {
            "server.bolt.listen_address": f"127.0.0.1:{self.port}",
            "server.bolt.advertised_address": f"127.0.0.1:{self.port}",
            "server.http.enabled": "false",
            "server.memory.pagecache.size": self._memory("NEO4J_PAGECACHE", "128m"),
            "dbms.security.auth_enabled": "true" if self._password else "false",
            "dbms.usage_report.enabled": "false",
            "db.tx_log.preallocate": "false",
            **({} if self._lasting else _PLAN_ONCE),
        }
        classes = f"{library}/*"
        if self._plugins:
            classes += f":{self._plugins}/*"
            settings["server.directories.plugins"] = str(self._plugins)
            settings["dbms.security.procedures.unrestricted"] = "apoc.*"
        if self._secured:
            certificate, key = self._secured
            settings |= {
                "server.bolt.tls_level": "REQUIRED",
                "dbms.ssl.policy.bolt.enabled": "true",
                "dbms.ssl.policy.bolt.base_directory": str(certificate.parent),
                "dbms.ssl.policy.bolt.public_certificate": str(certificate),
                "dbms.ssl.policy.bolt.private_key": str(key),
            }
        opened = [
            f"--add-opens=java.base/{package}=ALL-UNNAMED"
            for package in ("java.nio", "java.io", "sun.nio.ch")
        ]
        with (self.home / "server.log").open("ab") as log:
            self._process = subprocess.Popen(
                [
                    *("java", f"-Xmx{self._memory('NEO4J_HEAP', '1g')}"),
                    *(() if self._lasting else _QUICK_START),
                    *(*opened, "-cp", classes),
                    *("org.neo4j.server.CommunityEntryPoint", "--console-mode"),
                    *(f"--home-dir={self.home}", f"--config-dir={self.home / 'conf'}"),
                    *(part for item in settings.items() for part in ("-c", "=".join(item))),
                ],
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        self._wait(is_new)

    def _memory(self, variable: str, tested: str) -> str:
        return os.environ.get(variable, "1G") if self._lasting else tested

    def kill(self) -> None:
        """End it at once, as a crash would."""
        self._end(signal.SIGKILL)

    def stop(self) -> None:
        """End it in good order."""
        self._end(signal.SIGTERM)

    def _end(self, how: signal.Signals) -> None:
        if self._process is not None:
            self._process.send_signal(how)
            self._process.wait(timeout=60)
            self._process = None

    def _wait(self, is_new: bool) -> None:
        first = Address(self.address.uri, "neo4j", "neo4j", "system") if self._password else None
        deadline = time.monotonic() + _START_SECONDS
        while time.monotonic() < deadline and self._process and self._process.poll() is None:
            try:
                if is_new and first:
                    first.run(
                        "ALTER CURRENT USER SET PASSWORD FROM 'neo4j' TO $new", new=self._password
                    )
                    is_new = False
                self.address.run("RETURN 1")
            except (Neo4jError, ServiceUnavailable, SessionExpired):
                time.sleep(0.3)
            else:
                return
        log = (self.home / "server.log").read_text(errors="replace")
        self.kill()
        raise CannotStartError(f"Neo4j {VERSION} did not come up: {log[-2000:]}")


def jars() -> Path:
    """The folder of Neo4j's jars, fetched by Maven the first time."""
    return _fetched(CACHE / f"neo4j-{VERSION}", _JARS)


def plugins() -> Path:
    """The folder of APOC's jars, the same way."""
    parts = ("org.neo4j.procedure:apoc-core", "org.neo4j.procedure:apoc-common")
    return _fetched(CACHE / f"apoc-{_APOC}", [f"{part}:{_APOC}" for part in parts])


def _fetched(folder: Path, wanted: Sequence[str]) -> Path:
    needed = ("java",) if folder.exists() else ("java", "mvn")
    if missing := [name for name in needed if shutil.which(name) is None]:
        raise CannotStartError(f"{' and '.join(missing)} not found")
    if folder.exists():
        return folder
    CACHE.mkdir(parents=True, exist_ok=True)
    with FileLock(CACHE / "neo4j.lock"), tempfile.TemporaryDirectory(dir=CACHE) as temporary:
        if not folder.exists():
            pom = Path(temporary, "pom.xml")
            pom.write_text(_POM.format("".join(map(_dependency, wanted))))
            fetched = subprocess.run(
                [
                    *("mvn", "-q", "-B", "-f", pom, "dependency:copy-dependencies"),
                    *(f"-DoutputDirectory={temporary}/jars", "-DincludeScope=runtime"),
                ],
                capture_output=True,
                text=True,
                check=False,
            )
            if fetched.returncode:
                raise CannotStartError(f"Maven cannot fetch it: {fetched.stdout[-500:]}")
            Path(temporary, "jars").rename(folder)
    return folder


def _dependency(jar: str) -> str:
    group, artifact, version = jar.split(":")
    return (
        f"<dependency><groupId>{group}</groupId><artifactId>{artifact}</artifactId>"
        f"<version>{version}</version></dependency>"
    )


@contextmanager
def or_skip() -> Iterator[None]:
    """Skip the test if no server can start; fail it if the environment requires one."""
    try:
        yield
    except CannotStartError as error:
        if os.environ.get("HINDSIGHT_REQUIRE_NEO4J") == "1":
            pytest.fail(f"no Neo4j for the tests: {error}")
        pytest.skip(f"no Neo4j for the tests (they need Java 17 and Maven): {error}")


@pytest.fixture(scope="session")
def neo4j_address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Address]:
    """The server that all tests of this process share."""
    if uri := os.environ.get("NEO4J_URI"):
        env = os.environ.get
        given = Address(
            uri, env("NEO4J_USERNAME"), env("NEO4J_PASSWORD"), env("NEO4J_DATABASE", "neo4j")
        )
        yield given
        return
    with or_skip():
        address = _join()
    yield address
    _leave()


@pytest.fixture
def empty_neo4j(
    neo4j_address: Address, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Address]:
    """The same, with nothing in its database, and for this test alone."""
    with FileLock(Path(tempfile.gettempdir(), f"hindsight-{hash_of(neo4j_address.uri)}.lock")):
        ((others,),) = neo4j_address.run(f"{_ALL} RETURN count(n)")
        if others:
            pytest.fail(
                f"the database {neo4j_address.database!r} of {neo4j_address.uri} holds {others} "
                "nodes; the tests empty it, so give them an empty one"
            )
        yield neo4j_address
        neo4j_address.run(f"{_ALL} DETACH DELETE n")
        neo4j_address.run("MATCH (s:HindsightStore) REMOVE s.index_note")


@dataclass
class _Shared:
    """The server of this process, and how many modules have it: each has a fixture of its own."""

    server: Server | None = None
    modules: int = 0


_shared = _Shared()

_ALL = "MATCH (n) WHERE NOT n:HindsightStore"


def hash_of(uri: str) -> str:
    return "".join(c if c.isalnum() else "-" for c in uri)


def _join() -> Address:
    """Count a module in; the first one starts the server."""
    if _shared.server is None:
        server = Server(Path(tempfile.mkdtemp(prefix="neo4j-")))
        server.start()
        _shared.server = server
    _shared.modules += 1
    return _shared.server.address


def _leave() -> None:
    """Count a module out; the last one stops the server."""
    _shared.modules -= 1
    if not _shared.modules and _shared.server is not None:
        _shared.server.kill()
        shutil.rmtree(_shared.server.home, ignore_errors=True)
        _shared.server = None
