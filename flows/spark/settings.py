"""
The settings of Spark: ours, those of the user's installation of Spark, and those of mm2's file.

Imports nothing of PySpark, which takes longer to import than the JVM takes to start.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import javaproperties

from flows.spark.installed import spark_home
from flows.spark.jvm import DEFAULTS
from mm2.core.balancing.spark_slots import DEFAULT_MASTER, is_in_process, is_on_demand

_FIRST_COMPILER_ALONE: Final = "-XX:TieredStopAtLevel=1 "
_SECOND_COMPILER_LATER: Final = (
    "-XX:Tier4InvocationThreshold=100000 -XX:Tier4MinInvocationThreshold=12000"
    " -XX:Tier4CompileThreshold=300000 -XX:Tier4BackEdgeThreshold=800000 "
)
"""Twenty times its defaults: what each record needs is there at once, what a start needs never."""

_OFF_LOCAL: Final = {
    # One task is one process; an executor of several cores would have all tasks die with it.
    "spark.executor.cores": "1",
    # The heap does next to nothing; the task is a Python process, outside of it.
    "spark.executor.memory": "512m",
    "spark.executor.memoryOverhead": "512m",
    # Its JVM starts with half of the CPU time, which is what a task waits for after a loss.
    "spark.executor.extraJavaOptions": "-XX:+UseSerialGC -XX:TieredStopAtLevel=1 -XX:-UsePerfData",
    # Executors of a machine that vanished count as lost after 12 to 15 s: Spark's own is minutes.
    "spark.executor.heartbeatInterval": "3s",
    "spark.network.timeoutInterval": "3s",
}
_TIMEOUTS: Final = {
    "spark.network.timeout": "30s",
    "spark.storage.blockManagerHeartbeatTimeoutMs": "12s",
}
"""Where the user says nothing of how long executors may be silent."""

_OF_SILENCE: Final = {
    "spark.executor.heartbeatInterval",
    "spark.network.timeout",
    "spark.network.timeoutInterval",
}

WITH_SQL: Final = {
    # Over TCP each answer would wait for a delayed acknowledgement, about 40 ms.
    "spark.python.unix.domain.socket.enabled": "true",
    # Its JVM has work to do: the second compiler makes that two to three times as fast.
    "spark.driver.extraJavaOptions": DEFAULTS["spark.driver.extraJavaOptions"].replace(
        _FIRST_COMPILER_ALONE, _SECOND_COMPILER_LATER
    ),
}
"""Our defaults where a flow has expressions of SQL."""

_OFF_LOCAL_WITH_SQL: Final = {
    # There it is the executors that evaluate them.
    "spark.executor.extraJavaOptions": _OFF_LOCAL["spark.executor.extraJavaOptions"].replace(
        _FIRST_COMPILER_ALONE, _SECOND_COMPILER_LATER
    ),
}

_ON_DEMAND: Final = {
    # A node that has nothing to copy leaves the cores to the others.
    "spark.dynamicAllocation.enabled": "true",
    "spark.dynamicAllocation.shuffleTracking.enabled": "true",
    "spark.dynamicAllocation.minExecutors": "0",
}
_AUTHENTICATE: Final = "spark.authenticate"
_ENCRYPT: Final = "spark.network.crypto.enabled"
_ENCRYPT_FILES: Final = "spark.io.encryption.enabled"
_TLS: Final = "spark.ssl.rpc.enabled"
_SECRET: Final = "spark.authenticate.secret"  # noqa: S105 - a key
_PROTECTED: Final = {
    _AUTHENTICATE: "true",
    _ENCRYPT: "true",
    # The function of a task, with its passwords, is kept there when memory has no room for it.
    _ENCRYPT_FILES: "true",
}
_MAKES_SECRETS: Final = ("yarn", "k8s:")
"""Clusters that give each application a secret of its own."""

_IN_ONE_MACHINE: Final = "local-cluster["
IN_CLEAR: Final = (
    "would cross the network in clear to executors of Spark: set spark.authenticate.secret to that"
    " of the Spark cluster, or accept it with spark.network.crypto.enabled=false"
)
_FILE: Final = "spark-defaults.conf"


def spark_settings(user: Mapping[str, str], *, has_sql: bool = False) -> dict[str, str]:
    """
    What an application runs with; calling it again changes nothing.

    Args:
        user: ``spark.*`` keys of mm2's file, which win over ``spark-defaults.conf``, which wins
            over our defaults.
        has_sql: whether a flow has expressions of SQL.
    """
    user = {**_of_installation(), **user}
    settings = {**DEFAULTS, **(WITH_SQL if has_sql else {}), **user}
    if is_in_process(settings.get("spark.master", DEFAULT_MASTER)):
        return settings
    on_demand = _ON_DEMAND if is_on_demand(user) else {}
    timeouts = {} if _OF_SILENCE & user.keys() else _TIMEOUTS
    of_executors = {**_OFF_LOCAL, **(_OFF_LOCAL_WITH_SQL if has_sql else {})}
    return {**of_executors, **timeouts, **on_demand, **_protection(settings), **settings}


def _protection(settings: Mapping[str, str]) -> dict[str, str]:
    """Has Spark encrypt what it sends and keeps, where cluster and executors share a secret."""
    master = settings["spark.master"]
    if master.startswith(_IN_ONE_MACHINE):
        return {**_PROTECTED, _SECRET: secrets.token_hex(32)}
    return _PROTECTED if _SECRET in settings or master.startswith(_MAKES_SECRETS) else {}


def is_protected(settings: Mapping[str, str]) -> bool:
    """Whether nobody on the network can read what Spark sends to executors."""
    if is_in_process(settings["spark.master"]):
        return True
    authenticates = settings.get(_AUTHENTICATE) == "true"
    return authenticates and "true" in {settings.get(_ENCRYPT), settings.get(_TLS)}


def lets_anybody_in(settings: Mapping[str, str]) -> bool:
    """Whether driver and executors obey whoever reaches their ports, and nobody has said so."""
    return not is_in_process(settings["spark.master"]) and _AUTHENTICATE not in settings


def is_open_on_purpose(settings: Mapping[str, str]) -> bool:
    """Whether the user has written that Spark is not to encrypt what it sends."""
    return "false" in {settings.get(_AUTHENTICATE), settings.get(_ENCRYPT)}


def _of_installation() -> dict[str, str]:
    """The keys of ``spark-defaults.conf``, where Spark's own scripts look for it."""
    folder = os.environ.get("SPARK_CONF_DIR") or spark_home() / "conf"
    file = Path(folder) / _FILE
    if not file.is_file():
        return {}
    with file.open(encoding="latin-1") as lines:
        found = javaproperties.load(lines)
    return {key: value.strip() for key, value in found.items() if key.startswith("spark.")}
