"""Who is let into the REST interface, and what browsers are told."""

from __future__ import annotations

import ssl
from pathlib import Path

import aiohttp
import pytest
from structlog.testing import capture_logs

from mm2.config.keys.keys_top import HeaderRule
from mm2.config.rest_settings import Listener
from mm2.errors import ConfigError
from mm2.rest.connector_plugins import MIRROR_PLUGINS, Plugins
from mm2.rest.cors import Origins, is_loopback
from mm2.rest.passwords import Passwords
from tests.support.certificates import PASSWORD, Certified
from tests.support.fake_connectors import SOURCE, FakeConnectors
from tests.support.rest import interface, settings

STOP = "/connectors/A-%3EB.MirrorSourceConnector/stop"


@pytest.fixture
def passwords(tmp_path: Path) -> Path:
    file = tmp_path / "passwords"
    file.write_text("# who may\nanna=se=cret\nbert: \n")
    return file


@pytest.mark.parametrize(
    ("name", "password", "status"),
    [("anna", "se=cret", 200), ("anna", "secret", 401), ("emil", "", 401), ("", "", 401)],
)
async def test_only_those_in_the_file_are_let_in(
    passwords: Path, name: str, password: str, status: int
) -> None:
    async with interface(FakeConnectors(), settings(passwords_file=str(passwords))) as client:
        headers = {"Authorization": aiohttp.encode_basic_auth(name, password)}
        assert (await client.ask("GET", "/connectors", headers=headers))[0] == status


async def test_nobody_is_let_in_without_a_name(passwords: Path) -> None:
    async with (
        interface(FakeConnectors(), settings(passwords_file=str(passwords))) as client,
        client.session.get(f"{client.url}/") as response,
    ):
        assert response.status == 401
        assert response.headers["WWW-Authenticate"].startswith("Basic ")
        assert (await response.json())["error_code"] == 401


@pytest.mark.parametrize(
    "header",
    [None, "", "Basic", "Basic !!!", "Bearer YW5uYTpzZT1jcmV0", "Basic YW5uYQ==", "Basic Og=="],
)
def test_headers_that_are_no_credentials_admit_nobody(header: str | None) -> None:
    assert not Passwords({"anna": "se=cret"}).admits(header)


def test_a_file_of_passwords_that_cannot_be_read_is_a_mistake(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"rest\.basic\.auth\.file: .*nowhere cannot be used"):
        Passwords.of_file(str(tmp_path / "nowhere"))


def test_a_file_without_passwords_is_a_mistake(tmp_path: Path) -> None:
    (tmp_path / "empty").touch()
    with pytest.raises(ConfigError, match="holds no line name=password"):
        Passwords.of_file(str(tmp_path / "empty"))


async def test_a_node_that_only_shows_refuses_to_change_anything() -> None:
    connectors = FakeConnectors()
    async with interface(connectors, settings(read_only=True)) as client:
        status, body = await client.ask("PUT", STOP)
        assert (status, body["error_code"]) == (403, 403)
        assert await client.get("/connectors")
        validated = "/connector-plugins/MirrorSource/config/validate"
        config = {"connector.class": "MirrorSource"}
        assert (await client.ask("PUT", validated, json=config))[0] == 200
    assert connectors.found[SOURCE].target.value == "running"


async def test_a_node_without_a_login_says_how_it_can_be_changed() -> None:
    shows = settings(read_only=True, read_only_by_default=True)
    with capture_logs() as logs:
        async with interface(FakeConnectors(), shows) as client:
            status, body = await client.ask("PUT", STOP)
    assert status == 403
    assert "rest.basic.auth.file" in body["message"]
    assert "rest.read.only=false" in body["message"]
    assert "rest.read_only_by_default" in [each["event"] for each in logs]


async def test_a_worker_that_only_shows_looks_nothing_up_for_a_validation() -> None:
    """A message could tell what the worker's providers read."""
    plugins = Plugins(MIRROR_PLUGINS, resolves=True)
    async with interface(FakeConnectors(), settings(read_only=True), plugins=plugins) as client:
        validated = "/connector-plugins/MirrorSource/config/validate"
        config = {"connector.class": "MirrorSource"}
        assert (await client.ask("PUT", validated, json=config))[0] == 403


@pytest.mark.parametrize(
    ("origin", "host", "is_local", "is_foreign"),
    [
        ("http://evil.example:8083", "evil.example:8083", True, True),
        ("http://evil.example", "evil.example", True, True),
        ("http://mm2.example:8083", "mm2.example:8083", False, False),
        ("http://localhost:8083", "localhost:8083", True, False),
        ("http://[::1]:8083", "[::1]:8083", True, False),
        ("https://ui.example", "localhost:8083", True, False),
        (None, "evil.example:8083", True, False),
    ],
)
def test_any_name_may_be_made_to_lead_to_this_machine(
    origin: str | None, host: str, is_local: bool, is_foreign: bool
) -> None:
    origins = Origins(["https://ui.example"], [])
    assert origins.is_foreign(origin, host, is_local=is_local) is is_foreign


async def test_a_page_whose_name_was_made_to_lead_here_changes_nothing() -> None:
    async with interface(FakeConnectors()) as client:
        port = client.url.rpartition(":")[2]
        for name, status in (("evil.example", 403), ("localhost", 204)):
            headers = {"Origin": f"http://{name}:{port}", "Host": f"{name}:{port}"}
            assert (await client.ask("PUT", STOP, headers=headers))[0] == status


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("evil.example:{port}", 403),
        ("evil.example", 403),
        ("localhost.evil.example:{port}", 403),
        ("localhost:{port}", 200),
        ("LOCALHOST.:{port}", 200),
        ("mm2.localhost:{port}", 200),
        ("127.0.0.1:{port}", 200),
        ("[::1]:{port}", 200),
        ("Mm2.example", 200),
        ("ui.example:{port}", 200),
    ],
)
async def test_a_page_whose_name_was_made_to_lead_here_reads_nothing(
    host: str, status: int
) -> None:
    """A browser sends no ``Origin`` with what a page reads from its own server."""
    allowed = settings(advertised_host="mm2.example", origins=(r"http://ui\.example:\d+",))
    async with interface(FakeConnectors(), allowed) as client:
        headers = {"Host": host.format(port=client.url.rpartition(":")[2])}
        assert (await client.ask("GET", "/connectors", headers=headers))[0] == status


async def test_any_name_will_do_with_a_password(passwords: Path) -> None:
    async with interface(FakeConnectors(), settings(passwords_file=str(passwords))) as client:
        credentials = aiohttp.encode_basic_auth("anna", "se=cret")
        headers = {"Host": "mm2.example", "Authorization": credentials}
        assert (await client.ask("GET", "/connectors", headers=headers))[0] == 200


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("127.0.0.1", True),
        ("127.1.2.3", True),
        ("::1", True),
        ("::ffff:127.0.0.1", True),
        ("::ffff:10.0.0.1", False),
        ("10.0.0.1", False),
        ("fe80::1%lo", False),
        ("", False),
    ],
)
def test_addresses_of_this_machine_only_are_known(address: str, *, expected: bool) -> None:
    assert is_loopback(address) is expected


@pytest.mark.parametrize(
    ("origin", "status"),
    [
        ("http://evil.example", 403),
        ("null", 403),
        ("https://ui.example", 204),
        ("http://ui.internal.example:8080", 204),
        (None, 204),
    ],
)
async def test_pages_of_foreign_origins_cannot_change_anything(
    origin: str | None, status: int
) -> None:
    allowed = settings(origins=("https://ui.example", r"http://\S+\.internal\.example:\d+"))
    headers = {"Origin": origin} if origin else {}
    async with interface(FakeConnectors(), allowed) as client:
        assert (await client.ask("PUT", STOP, headers=headers))[0] == status


async def test_pages_of_the_server_itself_can() -> None:
    async with interface(FakeConnectors()) as client:
        assert (await client.ask("PUT", STOP, headers={"Origin": client.url}))[0] == 204


async def test_browsers_are_told_what_pages_may_do() -> None:
    allowed = settings(origins=("http://ui.example",), methods=("GET", "PUT"))
    asked = {"Origin": "http://ui.example", "Access-Control-Request-Method": "PUT"}
    async with interface(FakeConnectors(), allowed) as client:
        async with client.session.options(client.url + STOP, headers=asked) as response:
            assert response.headers["Access-Control-Allow-Origin"] == "http://ui.example"
            assert response.headers["Access-Control-Allow-Methods"] == "GET,PUT"
        strange = {**asked, "Origin": "http://evil.example"}
        async with client.session.options(client.url + STOP, headers=strange) as response:
            assert "Access-Control-Allow-Origin" not in response.headers
            assert "Access-Control-Allow-Methods" not in response.headers


async def test_browsers_are_told_nothing_where_no_origin_is_named() -> None:
    async with (
        interface(FakeConnectors()) as client,
        client.session.get(client.url, headers={"Origin": "http://ui.example"}) as response,
    ):
        assert "Access-Control-Allow-Origin" not in response.headers


async def test_answers_carry_the_headers_of_the_configuration() -> None:
    rules = (
        HeaderRule("set", "Cache-Control", "no-store"),
        HeaderRule("add", "X-Seen", "1"),
        HeaderRule("setDate", "Expires", "60000"),
    )
    async with (
        interface(FakeConnectors(), settings(headers=rules)) as client,
        client.session.get(f"{client.url}/nothing") as response,
    ):
        assert response.headers["Cache-Control"] == "no-store"
        assert response.headers["X-Seen"] == "1"
        assert response.headers["Expires"].endswith(" GMT")


async def test_https_is_served_with_the_certificate_of_the_key_store(tmp_path: Path) -> None:
    tls, trusted = _certificates(tmp_path)
    of = settings(listeners=(Listener("https", "localhost", 0),), tls=tls)
    async with interface(FakeConnectors(), of) as client:
        assert client.url.startswith("https://localhost:")
        assert (await client.ask("GET", "/connectors", ssl=trusted))[0] == 200


async def test_https_can_ask_clients_for_a_certificate(tmp_path: Path) -> None:
    tls, trusted = _certificates(tmp_path)
    https = (Listener("https", "localhost", 0),)
    of = settings(listeners=https, tls=tls, client_auth="required")
    async with interface(FakeConnectors(), of) as client:
        with pytest.raises(aiohttp.ClientError):
            await client.ask("GET", "/connectors", ssl=trusted)


def _certificates(folder: Path) -> tuple[dict[str, str], ssl.SSLContext]:
    """The server's keys of TLS, and what a client needs to trust it."""
    authority = Certified.authority("authority")
    store = authority.issue("node").keystore(folder / "node.p12", authority)
    tls = {
        "ssl.keystore.location": str(store),
        "ssl.keystore.password": PASSWORD,
        "ssl.truststore.location": str(authority.truststore(folder / "trust.p12")),
        "ssl.truststore.password": PASSWORD,
    }
    return tls, ssl.create_default_context(cadata=authority.certificate_pem)
