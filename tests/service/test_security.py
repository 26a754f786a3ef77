"""Who may send a request, and what the settings refuse."""

from __future__ import annotations

import base64

import httpx
import pytest
from starlette.responses import JSONResponse
from starlette.types import Receive, Scope, Send

from hindsight_integrations import Hindsight
from hindsight_integrations.errors import InvalidInputError
from hindsight_integrations.service.app import create_app
from hindsight_integrations.service.security import Guard
from hindsight_integrations.service.settings import ServiceSettings
from tests.service.conftest import Connect

TOKEN, ALICES = "the-token-of-the-service", "the-token-of-alice"
BANKS = "/v1/default/banks"


async def app(scope: Scope, receive: Receive, send: Send) -> None:
    state = scope["state"]
    await JSONResponse({"who": state["access"].who, "write": state["write"]})(scope, receive, send)


def guarded(**settings: object) -> Guard:
    return Guard(app, ServiceSettings(**settings), frozenset({"recall"}))


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200),
        ({"Host": "127.0.0.1:9999"}, 200),
        ({"Host": "[::1]:8888"}, 200),
        ({"Host": "rebound.example:8888"}, 421),
        ({"Host": "localhost.example"}, 421),
        ({"Host": ""}, 421),
        ({"Origin": "http://localhost:8888"}, 200),
        ({"Origin": "http://localhost:3000"}, 403),
        ({"Origin": "http://shop.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors"}, 403),
        ({"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}, 200),
    ],
)
async def test_other_sites_and_rebound_names_are_refused(
    connect: Connect, headers: dict[str, str], status: int
) -> None:
    async with connect(guarded()) as client:
        assert (await client.get("/ui/", headers=headers)).status_code == status


async def test_hosts_and_origins_that_are_listed_may_come(connect: Connect) -> None:
    settings = {"allowed_hosts": ["memory.lan"], "allowed_origins": ["http://localhost:3000"]}
    async with connect(guarded(**settings)) as client:
        headers = {"Host": "memory.lan:8888", "Origin": "http://localhost:3000"}
        assert (await client.post(BANKS, headers=headers)).status_code == 200


async def test_the_address_that_it_listens_on_is_a_name_of_its_own(connect: Connect) -> None:
    async with connect(guarded(host="127.0.0.2")) as client:
        for asked, status in (("127.0.0.2", 200), ("127.0.0.2:8888", 200), ("127.0.0.3", 421)):
            assert (await client.get("/ui/", headers={"Host": asked})).status_code == status


async def test_a_page_that_is_listed_may_read_the_answer(
    memory: Hindsight, connect: Connect
) -> None:
    page, other = "http://localhost:3000", "http://localhost:3001"
    app = create_app(memory, ServiceSettings(token=TOKEN, allowed_origins=(page,)))
    asked = {"Access-Control-Request-Method": "POST"} | {
        "Access-Control-Request-Headers": "authorization, content-type"
    }
    async with connect(app) as client:
        for origin, status in ((page, 200), (other, 400)):
            before = await client.options("/v1/engine/recall", headers={"Origin": origin, **asked})
            assert before.status_code == status
        given = {"bank_id": "alice", "content": "Alice keeps bees."}
        headers = {"Origin": page, **bearer(TOKEN)}
        answer = await client.post("/v1/engine/retain", json=given, headers=headers)
        assert answer.status_code == 200
        assert answer.headers["Access-Control-Allow-Origin"] == page
        headers["Origin"] = other
        refused = await client.post("/v1/engine/retain", json=given, headers=headers)
        assert refused.status_code == 403
        assert "Access-Control-Allow-Origin" not in refused.headers


async def test_on_loopback_the_token_is_asked_for_writes_alone(connect: Connect) -> None:
    async with connect(guarded(token=TOKEN)) as client:
        reads = [
            await client.get(f"{BANKS}/alice/stats"),
            await client.post(f"{BANKS}/alice/memories/recall"),
            await client.post("/v1/engine/recall"),
        ]
        assert [each.json() for each in reads] == [{"who": "none", "write": False}] * 3
        for path in (f"{BANKS}/alice/memories", "/v1/engine/retain", "/mcp/alice/", "/ui/alice"):
            refused = await client.post(path)
            assert refused.status_code == 401, path
            assert "Bearer" in refused.json()["detail"]
            wrong = await client.post(path, headers=bearer(TOKEN + "x"))
            assert wrong.status_code == 401
            admitted = await client.post(path, headers=bearer(TOKEN))
            assert admitted.json() == {"who": "service", "write": True}
        for path in (f"{BANKS}/alice/memories/recall", f"{BANKS}/alice/reflect"):
            for method in ("PATCH", "DELETE", "PUT"):  # a memory may have the id "recall"
                assert (await client.request(method, path)).status_code == 401, path
        basic = base64.b64encode(f"anyone:{TOKEN}".encode()).decode()
        as_in_a_browser = await client.post("/ui/", headers={"Authorization": f"Basic {basic}"})
        assert as_in_a_browser.status_code == 200


@pytest.mark.parametrize(
    ("settings", "peer"), [({"host": "0.0.0.0"}, "127.0.0.1"), ({}, "192.168.1.7")]
)
async def test_off_loopback_each_request_needs_the_token(
    connect: Connect, settings: dict[str, object], peer: str
) -> None:
    async with connect(guarded(token=TOKEN, **settings), peer) as client:
        assert (await client.get(f"{BANKS}/alice/stats")).status_code == 401
        for path in ("/health", "/health/live", "/health/ready", "/version"):
            assert (await client.get(path)).status_code == 200, path
        read = await client.get(f"{BANKS}/alice/stats", headers=bearer(TOKEN))
        assert read.json() == {"who": "service", "write": False}


async def test_a_banks_token_gives_access_to_this_bank_alone(connect: Connect) -> None:
    settings = {"token": TOKEN, "bank_tokens": {"alice": ALICES}}

    async def status(client: httpx.AsyncClient, path: str, token: str | None) -> int:
        headers = bearer(token) if token else {}
        return (await client.get(path, headers=headers)).status_code

    async with connect(guarded(**settings)) as client:
        paths = (f"{BANKS}/alice/stats", "/mcp/alice/", f"{BANKS}/bob/stats", BANKS, "/ui/")
        got = {who: [await status(client, path, who) for path in paths] for who in (TOKEN, ALICES)}
        assert got == {TOKEN: [200] * 5, ALICES: [200, 200, 403, 403, 403]}
        assert [await status(client, path, None) for path in paths] == [401, 401, 200, 401, 401]


async def test_a_missing_bank_tells_a_banks_token_of_no_other(
    memory: Hindsight, connect: Connect
) -> None:
    memory.banks.create("the secret of bob")
    settings = ServiceSettings(token=TOKEN, bank_tokens={"alice": ALICES})
    async with connect(create_app(memory, settings)) as client:
        for answer in (
            await client.get(f"{BANKS}/alice/stats", headers=bearer(ALICES)),
            await client.post(
                "/v1/engine/banks.get", json={"bank_id": "alice"}, headers=bearer(ALICES)
            ),
            await client.get(f"{BANKS}/carol/stats"),
        ):
            assert answer.status_code == 404
            assert "there is no bank" in answer.text
            assert "secret" not in answer.text


@pytest.mark.parametrize("named", [{"bob": 1}, [{"bob": 1}], [["bob"]], 1, True])
async def test_a_bank_that_is_not_named_as_text_is_refused(
    memory: Hindsight, connect: Connect, named: object
) -> None:
    memory.retain("bob", "The secret of Bob is a beehive.")
    settings = ServiceSettings(token=TOKEN, bank_tokens={"bob": "the-token-of-bob-alone"})
    async with connect(create_app(memory, settings)) as client:
        for verb in ("recall", "context", "reflect", "banks.get", "graph"):
            for headers in ({}, bearer(TOKEN)):
                given = {"bank_id": named, "query": "secret"}
                answer = await client.post(f"/v1/engine/{verb}", json=given, headers=headers)
                assert answer.status_code == 400, verb
                assert answer.json()["error"]["type"] == "InvalidInputError"
                assert "beehive" not in answer.text


def test_a_mapping_is_no_list_of_banks(memory: Hindsight) -> None:
    memory.retain("bob", "The secret of Bob is a beehive.")
    with pytest.raises(InvalidInputError, match="a bank id, or several"):
        memory.recall({"bob": 1}, "secret")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"host": "0.0.0.0"}, "HINDSIGHT_SERVICE_TOKEN"),
        ({"bank_tokens": {"alice": ALICES}}, "HINDSIGHT_SERVICE_TOKEN"),
        ({"token": "short"}, "16 characters"),
        ({"port": 70_000}, "0 to 65535"),
        ({"log_format": "xml"}, "log_format"),
    ],
)
def test_settings_that_would_be_unsafe_are_refused(given: dict[str, object], words: str) -> None:
    with pytest.raises(InvalidInputError, match=words):
        ServiceSettings(**given)


def test_settings_are_read_from_the_environment_and_hide_tokens() -> None:
    settings = ServiceSettings.from_env(
        {
            "HINDSIGHT_SERVICE_PORT": "9000",
            "HINDSIGHT_SERVICE_TOKEN": TOKEN,
            "HINDSIGHT_SERVICE_BANK_TOKENS": f'{{"alice": "{ALICES}"}}',
            "HINDSIGHT_SERVICE_ALLOWED_HOSTS": "memory.lan, memory",
            "HINDSIGHT_SERVICE_TELEMETRY": "true",
        },
        concurrency=4,
    )
    assert (settings.port, settings.concurrency, settings.telemetry) == (9000, 4, True)
    assert settings.allowed_hosts == ("memory.lan", "memory")
    assert settings.bank_tokens == {"alice": ALICES}
    assert TOKEN not in repr(settings)
    assert ALICES not in repr(settings)
    with pytest.raises(InvalidInputError) as refused:
        ServiceSettings.from_env({"HINDSIGHT_SERVICE_BANK_TOKENS": f"{{{ALICES}"})
    assert ALICES not in str(refused.value)
