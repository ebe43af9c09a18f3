"""Which settings Spark runs with: those of mm2's file, of Spark's own file, and ours."""

from __future__ import annotations

from pathlib import Path

import pytest

from flows.spark.settings import spark_settings

_DYNAMIC = "spark.dynamicAllocation.enabled"


@pytest.fixture(autouse=True)
def defaults_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    return tmp_path / "spark-defaults.conf"


@pytest.mark.parametrize("master", ["spark://host:7077", "yarn", "local-cluster[2,1,1024]"])
def test_off_local_each_task_has_an_executor_that_comes_and_goes_with_it(master: str) -> None:
    settings = spark_settings({"spark.master": master})
    assert settings["spark.executor.cores"] == "1"
    assert settings[_DYNAMIC] == "true"
    assert settings["spark.dynamicAllocation.shuffleTracking.enabled"] == "true"
    assert settings["spark.dynamicAllocation.minExecutors"] == "0"


@pytest.mark.parametrize("master", ["local", "local[2]", "local[4,1]", None])
def test_a_local_spark_has_no_settings_of_executors(master: str | None) -> None:
    settings = spark_settings({} if master is None else {"spark.master": master})
    assert not [key for key in settings if "executor" in key or "dynamic" in key]


def test_what_the_user_says_of_executors_holds() -> None:
    user = {"spark.master": "yarn", "spark.executor.cores": "4", _DYNAMIC: "false"}
    assert user.items() <= spark_settings(user).items()


@pytest.mark.parametrize(
    "key",
    ["spark.network.timeout", "spark.network.timeoutInterval", "spark.executor.heartbeatInterval"],
)
def test_who_says_how_long_executors_may_be_silent_says_when_they_are_lost(key: str) -> None:
    silent = "spark.storage.blockManagerHeartbeatTimeoutMs"
    cluster = {"spark.master": "yarn"}
    assert spark_settings(cluster)[silent] == "12s"
    settings = spark_settings({**cluster, key: "20s"})
    assert silent not in settings
    assert settings.get("spark.network.timeout") in {"20s", None}


def test_a_fixed_number_of_executors_is_not_made_dynamic() -> None:
    settings = spark_settings({"spark.master": "yarn", "spark.executor.instances": "3"})
    assert _DYNAMIC not in settings


def test_sparks_own_file_wins_over_our_defaults_and_mm2s_file_over_it(defaults_file: Path) -> None:
    defaults_file.write_text("# of all\nspark.master  spark://h:1\nspark.app.name=x\nother.key 1\n")
    settings = spark_settings({"spark.app.name": "y"})
    assert settings["spark.master"] == "spark://h:1"
    assert settings["spark.app.name"] == "y"
    assert settings["spark.executor.cores"] == "1"
    assert "other.key" not in settings


def test_settings_that_are_complete_stay_as_they_are() -> None:
    settings = spark_settings({"spark.master": "yarn", "spark.log.level": "WARN"})
    assert spark_settings(settings) == settings


_OPTIONS = {side: f"spark.{side}.extraJavaOptions" for side in ("driver", "executor")}
_ONE_COMPILER = "-XX:TieredStopAtLevel=1"
_SECOND_COMPILER = "-XX:Tier4"


def test_with_sql_jvms_that_evaluate_it_have_both_compilers() -> None:
    plain = spark_settings({"spark.master": "yarn"})
    with_sql = spark_settings({"spark.master": "yarn"}, has_sql=True)
    for key in _OPTIONS.values():
        assert _ONE_COMPILER in plain[key].split()
        assert [w for w in with_sql[key].split() if not w.startswith(_SECOND_COMPILER)] == [
            w for w in plain[key].split() if w != _ONE_COMPILER
        ]
        assert any(w.startswith(_SECOND_COMPILER) for w in with_sql[key].split())
    assert with_sql["spark.python.unix.domain.socket.enabled"] == "true"
    assert spark_settings(with_sql) == with_sql
    assert _OPTIONS["executor"] not in spark_settings({}, has_sql=True)


def test_sparks_own_file_wins_over_our_defaults_for_sql(defaults_file: Path) -> None:
    own = dict.fromkeys(_OPTIONS.values(), "-Dof=the-file")
    own["spark.python.unix.domain.socket.enabled"] = "false"
    lines = [f"{key} {value}\n" for key, value in {**own, "spark.master": "yarn"}.items()]
    defaults_file.write_text("".join(lines))
    assert own.items() <= spark_settings({}, has_sql=True).items()
