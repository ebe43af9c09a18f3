"""The settings of the REST interface, and what can be wrong with them."""

from __future__ import annotations

import pytest

from mm2.config.keys.keys_top import HeaderRule
from mm2.config.mirror_maker_config import MirrorMakerConfig
from mm2.config.rest_settings import (
    DEFAULT_LISTENER,
    Listener,
    RestSettings,
    read_rest,
    rest_of_file,
)
from mm2.errors import ConfigErrors

PROVIDERS = "org.apache.kafka.common.config.provider"


def _read(**properties: str) -> RestSettings:
    found = read_rest({key.replace("__", "."): value for key, value in properties.items()})
    assert found is not None
    return found


def test_only_this_machine_can_reach_it_when_nobody_says_where() -> None:
    found = _read()
    assert found == RestSettings()
    assert found.listeners == (DEFAULT_LISTENER,)
    assert found.listeners[0].is_local


def test_it_can_be_switched_off() -> None:
    assert read_rest({"rest.enabled": "false"}) is None


def test_listeners_are_read_as_java_does() -> None:
    found = _read(listeners="HTTP://:8083, https://[::1]:0,http://a-b.c_d%25:1")
    assert found.listeners == (
        Listener("http", "", 8083),
        Listener("https", "::1", 0),
        Listener("http", "a-b.c_d%25", 1),
    )
    assert [str(each) for each in found.listeners][1] == "https://[::1]:0"
    assert not found.by_default


@pytest.mark.parametrize(
    ("written", "complaint"),
    [
        ("http://a", "is not protocol://host:port"),
        ("127.0.0.1:8083", "is not protocol://host:port"),
        ("ftp://a:1", "must be http or https"),
        ("http://a:70000", "must be 0 to 65535"),
        ("http://a:-1", "must be 0 to 65535"),
        ("", "at least one URL"),
    ],
)
def test_listeners_that_are_wrong_are_told(written: str, complaint: str) -> None:
    with pytest.raises(ConfigErrors, match=complaint) as caught:
        read_rest({"listeners": written})
    assert caught.value.problems[0].key == "listeners"


def test_tls_keys_of_listeners_win_over_the_others_as_a_whole() -> None:
    own = {
        "listeners.https.ssl.keystore.location": "k",
        "listeners.https.ssl.client.auth": "required",
    }
    others = {"ssl.keystore.location": "o", "ssl.truststore.location": "t"}
    found = read_rest(own | others)
    assert found is not None
    assert found.tls == {"ssl.keystore.location": "k", "ssl.client.auth": "required"}
    assert found.client_auth == "required"
    found = read_rest(others)
    assert found is not None
    assert (found.tls, found.client_auth) == (others, "none")


def test_secrets_of_tls_are_not_printed() -> None:
    assert "hush" not in repr(_read(ssl__keystore__password="hush"))


@pytest.mark.parametrize(
    ("key", "value", "complaint"),
    [
        ("listeners.https.ssl.client.auth", "maybe", "ssl.client.auth is maybe"),
        ("rest.advertised.listener", "ftp", "must be http or https"),
        ("rest.read.only", "perhaps", "rest.read.only"),
        ("rest.extension.classes", "com.example.Mine", "cannot be loaded"),
        (
            "rest.extension.classes",
            "org.apache.kafka.connect.rest.basic.auth.extension.BasicAuthSecurityRestExtension",
            "rest.basic.auth.file",
        ),
    ],
)
def test_what_else_is_wrong_is_told(key: str, value: str, complaint: str) -> None:
    with pytest.raises(ConfigErrors, match=complaint):
        read_rest({key: value})


def test_connects_extension_is_content_with_a_file_of_passwords() -> None:
    extension = "org.apache.kafka.connect.rest.basic.auth.extension.BasicAuthSecurityRestExtension"
    found = read_rest({"rest.extension.classes": extension, "rest.basic.auth.file": "p"})
    assert found is not None
    assert found.passwords_file == "p"


def test_all_other_keys_are_read() -> None:
    found = _read(
        rest__advertised__host__name="front",
        rest__advertised__port="80",
        rest__advertised__listener="https",
        access__control__allow__origin="http://a , https://b",
        access__control__allow__methods="GET,PUT",
        response__http__headers__config='add X-A:1, "setDate Expires: 7"',
        rest__read__only="true",
    )
    assert (found.advertised_host, found.advertised_port) == ("front", 80)
    assert found.advertised_scheme == "https"
    assert found.origins == ("http://a", "https://b")
    assert found.methods == ("GET", "PUT")
    assert found.headers == (HeaderRule("add", "X-A", "1"), HeaderRule("setDate", "Expires", "7"))
    assert found.read_only


def test_mistakes_in_a_file_have_its_lines() -> None:
    raw = {"clusters": "A,B", "listeners": "a:1", "rest.advertised.listener": "x"}
    maker = MirrorMakerConfig(raw=raw, lines={"listeners": 7, "rest.advertised.listener": 3})
    with pytest.raises(ConfigErrors) as caught:
        rest_of_file(maker)
    assert [problem.line for problem in caught.value.problems] == [3, 7]


def test_expressions_in_a_file_are_resolved() -> None:
    raw = {
        "clusters": "A,B",
        "config.providers": "env",
        "config.providers.env.class": f"{PROVIDERS}.EnvVarConfigProvider",
        "rest.basic.auth.file": "${env:FILE}",
    }
    found = rest_of_file(MirrorMakerConfig(raw=raw, environment={"FILE": "/p"}))
    assert found is not None
    assert found.passwords_file == "/p"


@pytest.mark.parametrize(
    ("written", "shows_only"),
    [
        ({}, True),
        ({"listeners": "http://0.0.0.0:1"}, True),
        ({"listeners": "https://:1", "listeners.https.ssl.client.auth": "requested"}, True),
        ({"listeners": "https://:1,http://:2", "ssl.client.auth": "required"}, True),
        ({"listeners": "https://:1", "listeners.https.ssl.client.auth": "required"}, False),
        ({"rest.basic.auth.file": "/p"}, False),
        ({"rest.read.only": "false"}, False),
        ({"rest.read.only": "true", "rest.basic.auth.file": "/p"}, True),
    ],
    ids=str,
)
def test_who_has_not_logged_in_changes_nothing_of_a_dedicated_node(
    written: dict[str, str], *, shows_only: bool
) -> None:
    found = rest_of_file(MirrorMakerConfig(raw={"clusters": "A,B", **written}))
    assert found is not None
    assert found.read_only is shows_only
    assert found.read_only_by_default is (shows_only and "rest.read.only" not in written)
    # A worker's interface is Connect's.
    of_worker = read_rest(written)
    assert of_worker is not None
    assert of_worker.read_only is (written.get("rest.read.only") == "true")
