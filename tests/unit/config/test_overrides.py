"""What a worker allows its connectors to override (KIP-458)."""

from __future__ import annotations

import pytest

from mm2.config.flow_config import FlowConfig
from mm2.config.overrides import check
from mm2.errors import ConfigErrors
from tests.support.configs import config_of

_POLICY = "connector.client.config.override.policy"
_JAVA = "org.apache.kafka.connect.connector.policy."
_SIZE = "A->B.producer.override.batch.size"
_PROTOCOL = "A->B.producer.override.security.protocol"


def _config(policy: str, listed: str = "", **others: str) -> FlowConfig:
    more = {f"B.{_POLICY}": policy, **others}
    if listed:
        more["B.connector.client.config.override.allowlist"] = listed
    return config_of(more)


@pytest.mark.parametrize(
    ("policy", "listed", "key", "allowed"),
    [
        ("All", "", _SIZE, True),
        ("None", "", _SIZE, False),
        ("None", "", _PROTOCOL, False),
        ("None", "", "A->B.consumer.override.max.poll.records", False),
        ("None", "", "A->B.admin.override.request.timeout.ms", False),
        ("None", "", "A->B.source.consumer.fetch.max.bytes", True),
        ("Principal", "", _SIZE, False),
        ("Principal", "", _PROTOCOL, True),
        ("Allowlist", "", _SIZE, False),
        ("Allowlist", "linger.ms, batch.size", _SIZE, True),
        ("Allowlist", "linger.ms", _PROTOCOL, False),
        (f"{_JAVA}NoneConnectorClientConfigOverridePolicy", "", _SIZE, False),
        ("AllConnectorClientConfigOverridePolicy", "", _SIZE, True),
    ],
)
def test_an_override_needs_the_worker_s_permission(
    policy: str, listed: str, key: str, *, allowed: bool
) -> None:
    value = "PLAINTEXT" if key == _PROTOCOL else "1000"
    if allowed:
        _config(policy, listed, **{key: value})
        return
    with pytest.raises(ConfigErrors) as raised:
        _config(policy, listed, **{key: value})
    (problem,) = raised.value.problems
    assert problem.key == key
    assert problem.line is not None
    assert f"is not allowed: B.{_POLICY} is " in problem.message


def test_a_policy_that_nobody_knows_is_a_mistake() -> None:
    with pytest.raises(ConfigErrors, match="must be one of All, Allowlist, None, Principal"):
        _config("com.acme.Policy")


def test_what_is_altered_needs_the_permission_too_and_cannot_give_it() -> None:
    config = _config("None")
    with pytest.raises(ConfigErrors, match="is not allowed"):
        check(config, {"producer.override.batch.size": "1000"})
    with pytest.raises(ConfigErrors, match="says what may be altered"):
        check(config, {_POLICY: "All", "producer.override.batch.size": "1000"})
