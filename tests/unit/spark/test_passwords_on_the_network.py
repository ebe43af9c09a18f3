"""Passwords of clients that would cross the network to executors of a Spark cluster."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Final

import pytest
from structlog.testing import capture_logs

from flows.spark.engine import SparkEngine
from flows.spark.network_checks import NetworkChecks
from flows.spark.settings import is_protected, spark_settings
from flows.spark.spark_job import JobFailed
from mm2.errors import FatalError
from mm2.protocol.bundle_spec import BundleSpec
from tests.support.configs import flow_of
from tests.support.specs import sample_spec

_NOBODY: Final = "spark://127.0.0.1:1"
_PASSWORD: Final = "v3ry-s3cret-of-the-test"
_PROVIDER: Final = {
    "config.providers": "directory",
    "config.providers.directory.class": (
        "org.apache.kafka.common.config.provider.DirectoryConfigProvider"
    ),
}
_SECRET: Final = "spark.authenticate.secret"


def _with_password() -> BundleSpec:
    return replace(sample_spec(), source={"sasl.jaas.config": _PASSWORD})


async def _run(settings: dict[str, str], spec: BundleSpec) -> None:
    engine = SparkEngine({"spark.master": _NOBODY, **settings}, task=lambda _: {})
    try:
        await engine.run(spec)
    finally:
        await engine.stop()


async def test_they_are_not_sent_in_clear() -> None:
    with pytest.raises(JobFailed) as failure:
        await _run({}, _with_password())
    assert str(failure.value).startswith("sasl.jaas.config: would cross the network in clear")
    assert _SECRET in str(failure.value)
    assert _PASSWORD not in str(failure.value)


@pytest.mark.parametrize(
    "settings", [{_SECRET: "x"}, {"spark.master": "spark://127.0.0.1:1", _SECRET: "x"}]
)
async def test_they_are_sent_where_executors_share_a_secret(settings: dict[str, str]) -> None:
    with pytest.raises(FatalError, match="refused"):
        await _run(settings, _with_password())


@pytest.mark.parametrize(
    "key", ["message.handler.args", "arrow.function.args", "transforms.sql.value"]
)
async def test_what_a_provider_gives_to_code_is_not_sent_in_clear_either(
    key: str, tmp_path: Path
) -> None:
    (tmp_path / "salt").write_text(_PASSWORD)
    text = f"sha2(concat(value, '${{directory:{tmp_path}:salt}}'), 256)"
    transforms = flow_of({f"A->B.{key}": text, **_PROVIDER}).source.transforms
    with pytest.raises(JobFailed) as failure:
        await _run({}, sample_spec(transforms=transforms))
    assert str(failure.value).startswith(f"{key}: would cross the network in clear")
    assert _PASSWORD not in str(failure.value)


async def test_what_the_file_itself_gives_to_code_is_sent() -> None:
    transforms = flow_of({"A->B.message.handler.args": "of the file", **_PROVIDER}).source
    with pytest.raises(FatalError, match="refused"):
        await _run({}, sample_spec(transforms=transforms.transforms))


async def test_what_holds_no_password_is_sent() -> None:
    with pytest.raises(FatalError, match="refused"):
        await _run({}, sample_spec())


async def test_a_user_may_have_it_so_and_is_warned() -> None:
    with capture_logs() as logs, pytest.raises(FatalError, match="refused"):
        await _run({"spark.network.crypto.enabled": "false"}, _with_password())
    (warning,) = [each for each in logs if each["event"] == "spark.not_encrypted"]
    assert warning["keys"] == ["sasl.jaas.config"]


@pytest.mark.parametrize(
    ("settings", "protected"),
    [
        ({"spark.master": "local[2]"}, True),
        ({"spark.master": "yarn"}, True),
        ({"spark.master": "k8s://https://h:1"}, True),
        ({"spark.master": "local-cluster[2,1,1024]"}, True),
        ({"spark.master": "spark://h:1"}, False),
        ({"spark.master": "spark://h:1", _SECRET: "x"}, True),
        ({"spark.master": "yarn", "spark.authenticate": "false"}, False),
        ({"spark.master": "yarn", "spark.network.crypto.enabled": "false"}, False),
    ],
)
def test_spark_encrypts_by_default_where_it_can(
    settings: dict[str, str], *, protected: bool
) -> None:
    assert is_protected(spark_settings(settings)) == protected


@pytest.mark.parametrize(
    ("settings", "open_"),
    [
        ({"spark.master": "local"}, False),
        ({"spark.master": "local-cluster[2,1,1024]"}, False),
        ({"spark.master": "yarn"}, False),
        ({"spark.master": "spark://h:1"}, True),
        ({"spark.master": "spark://h:1", _SECRET: "x"}, False),
        ({"spark.master": "spark://h:1", "spark.authenticate": "false"}, False),
    ],
)
def test_a_cluster_that_lets_anybody_in_is_warned_of_unless_that_was_said(
    settings: dict[str, str], *, open_: bool
) -> None:
    checks = NetworkChecks(spark_settings(settings))
    with capture_logs() as logged:
        checks.warn_if_open()
        checks.warn_if_open()
    warned = [line["event"] for line in logged]
    assert warned == (["spark.not_authenticated"] if open_ else [])


@pytest.mark.parametrize(
    ("settings", "encrypts"),
    [
        ({"spark.master": "local[2]"}, None),
        ({"spark.master": "spark://h:1"}, None),
        ({"spark.master": "yarn"}, "true"),
        ({"spark.master": "spark://h:1", _SECRET: "x"}, "true"),
        ({"spark.master": "yarn", "spark.io.encryption.enabled": "false"}, "false"),
    ],
)
def test_files_of_spark_are_encrypted_by_default_where_the_network_is(
    settings: dict[str, str], encrypts: str | None
) -> None:
    assert spark_settings(settings).get("spark.io.encryption.enabled") == encrypts
