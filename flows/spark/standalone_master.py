"""
Asks the master of a standalone cluster whether it knows an application.

By Spark's own messages, because its clients do not say: an application goes on without a word when
a new master, without a recovery mode, does not know it, and gets no executors any more.
"""

from __future__ import annotations

from typing import Any, Final

import structlog
from py4j.protocol import Py4JError
from pyspark import SparkContext

log = structlog.get_logger()

_SCHEME: Final = "spark://"
_ALIVE: Final = "ALIVE"


def is_forgotten(context: SparkContext) -> bool | None:
    """
    Whether a leading master answers, and none of the masters knows the application; blocks.

    None where the master is of another kind, or none that leads answers.
    """
    masters = str(context.master)
    if not masters.startswith(_SCHEME):
        return None
    is_led = False
    for address in masters.removeprefix(_SCHEME).split(","):
        try:
            status, known = _applications(context, address)
            if context.applicationId in known:
                return False
        except (Py4JError, OSError, ValueError, TypeError, AttributeError) as error:
            # It is away, or this release of Spark has other messages.
            log.debug("spark.master_not_asked", error=type(error).__name__)
            continue
        is_led |= status == _ALIVE
    return True if is_led else None


def _applications(context: SparkContext, address: str) -> tuple[str, set[str]]:
    """The status of a master, and the applications that it knows."""
    jvm: Any = context._jvm  # noqa: SLF001 - there is no public way to ask
    host, _, port = address.rpartition(":")
    place = jvm.org.apache.spark.rpc.RpcAddress(host, int(port))
    java: Any = context._jsc  # noqa: SLF001
    master = java.sc().schedulerBackend().rpcEnv().setupEndpointRef(place, "Master")
    request = _scala_object(jvm.org.apache.spark.deploy, "DeployMessages$RequestMasterState")
    answer_type = _scala_object(jvm.scala.reflect, "ClassTag").Any()
    state = master.askSync(request, answer_type)
    return state.status().toString(), {each.id() for each in state.activeApps()}


def _scala_object(package: Any, name: str) -> Any:
    return getattr(getattr(package, f"{name}$"), "MODULE$")
