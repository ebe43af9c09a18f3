"""Reasons that Java gives, and the settings that they are about."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest

from flows.spark.spark_errors import not_started, reason_of

_LOST = (
    "Job aborted due to stage failure: Task 0 in stage 1.0 failed 4 times, most recent failure: "
    "Lost task 0.3 in stage 1.0 (TID 4) (host executor 1): ExecutorLostFailure (executor 1 exited "
    "caused by one of the running tasks) Reason: worker lost\nDriver stacktrace:"
)
_PYTHON = (
    "Job aborted due to stage failure: Task 0 in stage 1.0 failed 1 times, most recent failure: "
    "Lost task 0.0: org.apache.spark.api.python.PythonException: Traceback (most recent call last):"
    '\n  File "x.py", line 1\nValueError: of the task\n\n\tat org.apache.spark.X\n'
    "\nDriver stacktrace:"
)


@dataclass
class _Named:
    name: str

    def getSimpleName(self) -> str:  # noqa: N802 - Java's
        return self.name


@dataclass
class _Exception:
    """As Py4J shows one of Java's."""

    message: str | None
    cause: _Exception | None = None
    kind: _Named = field(default_factory=lambda: _Named("SomeException"))

    def getMessage(self) -> str | None:  # noqa: N802
        return self.message

    def getCause(self) -> _Exception | None:  # noqa: N802
        return self.cause

    def getClass(self) -> _Named:  # noqa: N802
        return self.kind


@dataclass
class _Error:
    java_exception: _Exception


def _on_kubernetes(cause: _Exception) -> _Exception:
    """What surrounds an error of the client of Kubernetes while Spark starts, as it was seen."""
    operation = (
        "Operation: [get]  for kind: [Pod]  with name: [mm2-0]  in namespace: [kafka]  failed."
    )
    return _Exception(
        "External scheduler cannot be instantiated", _Exception(None, _Exception(operation, cause))
    )


@pytest.mark.parametrize(
    ("exception", "reason"),
    [
        (_Exception(_LOST), "Reason: worker lost"),
        (_Exception(_PYTHON), "ValueError: of the task"),
        (_Exception("An error has occurred.", _Exception("refused: /h:1")), "refused: /h:1"),
        (_Exception("/no/such", kind=_Named("NoSuchFile")), "NoSuchFile: /no/such"),
        (_on_kubernetes(_Exception("Connection refused: h/1:443")), "refused: h/1:443"),
        (_Exception("x is forbidden. Received status: Status(code=403)."), "x is forbidden."),
        (_on_kubernetes(_Exception("h.svc", kind=_Named("IOException"))), "IOException: h.svc"),
    ],
    ids=["executor", "python", "cause", "file", "kubernetes-away", "forbidden", "name-unknown"],
)
def test_the_reason_is_the_line_that_tells_most(exception: _Exception, reason: str) -> None:
    error: Any = _Error(exception)
    assert reason_of(error).endswith(reason)
    assert "Driver stacktrace" not in reason_of(error)


@pytest.mark.parametrize("name", ["mm2", "mm2.core", "flows", "flows.spark"])
def test_executors_without_mm2_need_it(name: str) -> None:
    error: Any = _Error(_Exception(f"ModuleNotFoundError: No module named '{name}'"))
    assert reason_of(error).startswith("executors have no mm2")


@pytest.mark.parametrize("name", ["mm2_handlers", "flows_x", "mm2x.core"])
def test_a_module_of_the_users_that_executors_lack_is_named_itself(name: str) -> None:
    message = f"ModuleNotFoundError: No module named '{name}'"
    error: Any = _Error(_Exception(_PYTHON.replace("ValueError: of the task", message)))
    assert reason_of(error) == message


def test_settings_of_which_the_reason_speaks_are_named_lists_and_archives_too() -> None:
    settings = {
        "spark.master": "local[2]",
        "spark.archives": "/a.tar.gz#env,/no/such.zip#data",
        "spark.jars": "/other.jar",
    }
    error = not_started("NoSuchFileException: /no/such.zip", settings)
    assert str(error).endswith("/no/such.zip (see spark.archives)")


def test_a_reason_that_speaks_of_no_setting_is_about_the_master_of_a_cluster() -> None:
    assert str(not_started("refused", {"spark.master": "yarn"})).endswith("(see spark.master)")
    assert str(not_started("refused", {"spark.master": "local[2]"})).endswith("refused")


def test_a_folder_that_spark_expects_by_default_is_named_with_its_key() -> None:
    settings = {"spark.master": "local[2]", "spark.eventLog.enabled": "true"}
    reason = "FileNotFoundException: File file:/tmp/spark-events does not exist"
    assert str(not_started(reason, settings)).endswith("exist (see spark.eventLog.dir)")
    assert str(not_started("refused", settings)).endswith("refused")
