"""
YARN, beside what Spark does with it: where its ResourceManagers listen, and applications that wait.

Imports nothing of PySpark, which takes longer to import than the JVM takes to start.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from queue import Empty, Queue
from threading import Thread
from typing import Any, Final
from xml.etree import ElementTree as ET

YARN: Final = "yarn"
"""The ``spark.master``."""

_TAGS: Final = "spark.yarn.tags"
ANSWERS_WITHIN_S: Final = 5.0
"""A ResourceManager that is silent for longer is not waited for."""

_WAIT: Final = {"NEW", "NEW_SAVING", "SUBMITTED", "ACCEPTED"}
_ENDED: Final = {"FINISHED", "FAILED", "KILLED"}
_MOST_CHARACTERS: Final = 800
"""What comes first says why; lists of processes come later."""

_FOLDERS: Final = ("HADOOP_CONF_DIR", "YARN_CONF_DIR")
_FILE: Final = "yarn-site.xml"
_OF_SPARK: Final = "spark.hadoop."
_MANAGER: Final = "yarn.resourcemanager"
_PORT: Final = 8032
_VARIABLE: Final = "${"


def resource_managers(settings: Mapping[str, str]) -> list[str]:
    """
    All addresses, each with a port; none where one is not said, or said by variables.

    Args:
        settings: of Spark, whose ``spark.hadoop.*`` keys win over the file.
    """
    found = {
        **_of_file(),
        **{
            key.removeprefix(_OF_SPARK): value
            for key, value in settings.items()
            if key.startswith(_OF_SPARK)
        },
    }
    has_several = found.get(f"{_MANAGER}.ha.enabled") == "true"
    ids = found.get(f"{_MANAGER}.ha.rm-ids", "").split(",") if has_several else []
    suffixes = [f".{each.strip()}" for each in ids] or [""]
    addresses = [_address(found, suffix) for suffix in suffixes]
    are_known = all(each and _VARIABLE not in each for each in addresses)
    return addresses if are_known else []


def _address(found: Mapping[str, str], suffix: str) -> str:
    host = found.get(f"{_MANAGER}.hostname{suffix}", "")
    address = found.get(f"{_MANAGER}.address{suffix}", host)
    return address if ":" in address or not address else f"{address}:{_PORT}"


def _of_file() -> dict[str, str]:
    """Nothing where there is no file, or one of which Hadoop's client says what is wrong."""
    for folder in filter(None, map(os.environ.get, _FOLDERS)):
        file = Path(folder) / _FILE
        if file.is_file():
            with suppress(ET.ParseError):
                root = ET.parse(file).getroot()  # noqa: S314 - the administrator's file
                return {
                    each.findtext("name", "").strip(): each.findtext("value", "").strip()
                    for each in root.iter("property")
                }
    return {}


def with_tag(settings: Mapping[str, str]) -> dict[str, str]:
    """Has YARN know the applications of this process by a tag of their own."""
    if settings["spark.master"] != YARN:
        return dict(settings)
    return {**settings, _TAGS: ",".join(filter(None, (settings.get(_TAGS), f"mm2-{uuid.uuid4()}")))}


class YarnApplications:
    """
    Those of this process, which Spark does not speak of until they run.

    Args:
        gateway: to a JVM with Spark's jars.
        settings: of Spark, with the tag.
    """

    def __init__(self, gateway: Any, settings: Mapping[str, str]) -> None:
        self._jvm = gateway.jvm
        self._settings = settings

    def waiting(self) -> str | None:
        """What the newest one waits for, in YARN's words; None if YARN does not answer in time."""

        def ask(client: Any) -> str:
            newest = self._reports(client)[-1:]
            return "".join(_queued(each) for each in newest if _state(each) in _WAIT)

        return self._in_time(ask)

    def end_diagnostics(self) -> str | None:
        """Why the newest one has ended, in YARN's words."""

        def ask(client: Any) -> str:
            newest = self._reports(client)[-1:]
            return "".join(
                _diagnostics(each)[:_MOST_CHARACTERS] for each in newest if _state(each) in _ENDED
            )

        return self._in_time(ask)

    def kill(self, only: str | None = None) -> None:
        """
        Takes them from YARN, which would else start them when nobody waits for them.

        Args:
            only: the id of the one to take; the next one may have begun.
        """

        def ask(client: Any) -> str:
            for each in self._reports(client):
                found = each.getApplicationId()
                if _state(each) not in _ENDED and only in (None, found.toString()):
                    client.killApplication(found)
            return ""

        self._in_time(ask)

    def _in_time(self, ask: Callable[[Any], str]) -> str | None:
        """Hadoop's client would wait for minutes."""
        answers: Queue[str] = Queue()
        Thread(target=lambda: answers.put(self._asked(ask)), name="yarn", daemon=True).start()
        try:
            return answers.get(timeout=ANSWERS_WITHIN_S)
        except Empty:
            return None

    def _asked(self, ask: Callable[[Any], str]) -> str:
        from py4j.protocol import Py4JError  # noqa: PLC0415 - see above

        try:
            client = self._client()
            answer = ask(client)
            client.stop()
        except (Py4JError, OSError, TypeError, AttributeError):  # Spark's own client says why.
            return ""
        return answer

    def _client(self) -> Any:
        hadoop = self._jvm.org.apache.hadoop.yarn
        config = hadoop.conf.YarnConfiguration()
        for key, value in self._settings.items():
            if key.startswith(_OF_SPARK):
                config.set(key.removeprefix(_OF_SPARK), value)
        client = hadoop.client.api.YarnClient.createYarnClient()
        client.init(config)
        client.start()
        return client

    def _reports(self, client: Any) -> list[Any]:
        """The newest last."""
        records = self._jvm.org.apache.hadoop.yarn.api.protocolrecords
        request = records.GetApplicationsRequest.newInstance()
        tag = self._settings[_TAGS].rpartition(",")[2]
        request.setApplicationTags(self._jvm.java.util.Collections.singleton(tag))
        found = client.getApplications(request)
        return sorted(found, key=lambda each: int(each.getApplicationId().getId()))


def _state(report: Any) -> str:
    return str(report.getYarnApplicationState().toString())


def _queued(report: Any) -> str:
    where = f"{report.getApplicationId().toString()} in queue {report.getQueue()}"
    return f"{where}: {_diagnostics(report)}"


def _diagnostics(report: Any) -> str:
    """In one line."""
    return " ".join(str(report.getDiagnostics() or "").split())
