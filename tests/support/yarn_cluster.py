"""A cluster of YARN for tests: ResourceManager and NodeManagers as processes of this machine."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from subprocess import STDOUT
from subprocess import Popen as Process
from typing import Any, Final, Self
from urllib.error import URLError
from urllib.request import Request, urlopen
from xml.sax.saxutils import escape

import psutil

from flows.spark.installed import java_launcher
from flows.spark.jvm import sparks_jars
from mm2.demo.broker_settings import HOST, free_ports
from mm2.demo.processes import KafkaMissing
from tests.support.eventually import eventually
from tests.support.layout import ROOT
from tests.support.process import freeze
from tests.support.spark_cluster import QUICK, quick_start

_JARS: Final = ROOT / "build" / "kafka" / "yarn" / "libs"
_SERVER: Final = "org.apache.hadoop.yarn.server"
_MANAGER: Final = "yarn.resourcemanager"
_NODE: Final = "yarn.nodemanager"
_CAPACITY: Final = "yarn.scheduler.capacity"
_OF_NODE: Final = ("address", "localizer.address", "webapp.address")
_EXECUTOR: Final = "YarnCoarseGrainedExecutorBackend"
_MASTER: Final = "org.apache.spark.deploy.yarn.ExecutorLauncher"
_ANSWERS_WITHIN_S: Final = 30.0

QUEUE: Final = "mirrors"
"""The only queue beside the default one."""


class YarnCluster:
    """
    A ResourceManager and NodeManagers, made on ``with`` and removed at its end.

    Args:
        nodes: how many to begin with.
        memory_mb: of each.
        site: more of ``yarn-site.xml``.

    Attributes:
        home: the folder of its files, with logs of containers below ``logs``.
        conf: what ``HADOOP_CONF_DIR`` is to be.
    """

    def __init__(
        self, *, nodes: int = 2, memory_mb: int = 3072, site: Mapping[str, str] | None = None
    ) -> None:
        self._first = nodes
        self.home = Path(tempfile.mkdtemp(prefix="yarn-cluster-"))
        self.conf = self.home / "conf"
        *ports, self._web = free_ports(5)
        roles = ("address", "scheduler.address", "resource-tracker.address", "admin.address")
        self._site = {
            f"{_MANAGER}.bind-host": HOST,
            **{
                f"{_MANAGER}.{role}": f"{HOST}:{port}"
                for role, port in zip(roles, ports, strict=True)
            },
            f"{_MANAGER}.webapp.address": f"{HOST}:{self._web}",
            f"{_NODE}.hostname": HOST,
            f"{_NODE}.bind-host": HOST,
            f"{_NODE}.resource.memory-mb": str(memory_mb),
            f"{_NODE}.resource.cpu-vcores": "2",
            f"{_NODE}.disk-health-checker.enable": "false",
            "yarn.scheduler.minimum-allocation-mb": "128",
            **(site or {}),
        }
        self._manager: Process[bytes] | None = None
        self._nodes: list[Process[bytes]] = []

        self._started = 0

    def __enter__(self) -> Self:
        self._write_files()
        self.start_manager()
        for _ in range(self._first):
            self.start_node()
        self.wait_for_nodes(self._first)
        return self

    def __exit__(self, *_: object) -> None:
        for node in self.nodes:
            self.kill_node(node)
        if self._manager is not None:
            self.kill_manager()
        shutil.rmtree(self.home, ignore_errors=True)

    @property
    def application(self) -> dict[str, str]:
        """Settings of a mirror on it; executors have the jars of this machine."""
        return {
            **quick_start(),
            "spark.master": "yarn",
            "spark.yarn.queue": QUEUE,
            "spark.yarn.stagingDir": (self.home / "staging").as_uri(),
            "spark.yarn.jars": f"local:{sparks_jars()[0].parent}/*",
            "spark.driver.host": HOST,
            "spark.yarn.appMasterEnv.SPARK_LOCAL_IP": HOST,
            "spark.yarn.am.extraJavaOptions": " ".join(QUICK),
        }

    @property
    def nodes(self) -> list[Process[bytes]]:
        """The NodeManagers that run, in the order in which they came."""
        return list(self._nodes)

    @property
    def manager(self) -> Process[bytes]:
        """The ResourceManager."""
        assert self._manager is not None
        return self._manager

    def start_manager(self) -> None:
        """Starts the ResourceManager, which knows nothing of an earlier one."""
        self._manager = self._start("resourcemanager.ResourceManager")

    def kill_manager(self) -> None:
        """Kills the ResourceManager; containers run on."""
        self.manager.kill()
        self.manager.wait()

    def start_node(self) -> None:
        """Starts a NodeManager."""
        addresses = zip(_OF_NODE, free_ports(len(_OF_NODE)), strict=True)
        folder = self.home / f"node-{self._started}"
        own = {f"{_NODE}.{role}": f"{HOST}:{port}" for role, port in addresses}
        own |= {
            f"{_NODE}.local-dirs": str(folder / "local"),
            f"{_NODE}.log-dirs": str(folder / "logs"),
        }
        words = [word for key, value in own.items() for word in ("-D", f"{key}={value}")]
        self._nodes.append(self._start("nodemanager.NodeManager", *words))

    def wait_for_nodes(self, count: int) -> None:
        """Waits until the ResourceManager has so many."""
        eventually(
            lambda: self._get("metrics")["clusterMetrics"]["activeNodes"],
            until=lambda found: found == count,
        )

    def kill_node(self, node: Process[bytes]) -> None:
        """Kills a NodeManager with its containers, as the loss of its machine does."""
        self._nodes.remove(node)
        family = [psutil.Process(node.pid), *psutil.Process(node.pid).children(recursive=True)]
        freeze(*(each.pid for each in family))
        for each in family:
            with suppress(psutil.NoSuchProcess):
                each.kill()
        node.wait()

    def applications(self) -> list[dict[str, Any]]:
        """What the ResourceManager says of all that it knows, the newest last."""
        found = (self._get("apps")["apps"] or {"app": []})["app"]
        return sorted(found, key=lambda each: str(each["id"]))

    def states(self) -> list[tuple[str, str]]:
        """The state and the final status of each application, the newest last."""
        return [(each["state"], each["finalStatus"]) for each in self.applications()]

    def kill_application(self, name: str) -> None:
        """What ``yarn application -kill`` does."""
        state = json.dumps({"state": "KILLED"}).encode()
        request = Request(self._url(f"apps/{name}/state?user.name={_user()}"), state, method="PUT")
        request.add_header("Content-Type", "application/json")
        urlopen(request, timeout=_ANSWERS_WITHIN_S).close()

    def containers(self, word: str) -> list[psutil.Process]:
        """The JVMs of containers whose command has a word."""
        found = []
        for node in self._nodes:
            for each in _descendants(psutil.Process(node.pid)):
                with suppress(psutil.NoSuchProcess):
                    words = each.cmdline()
                    if Path(words[0]).name == "java" and any(word in one for one in words):
                        found.append(each)
        return found

    def executors(self) -> list[psutil.Process]:
        """The JVMs of executors that run."""
        return self.containers(_EXECUTOR)

    def application_masters(self) -> list[psutil.Process]:
        """The JVMs of what asks the ResourceManager for executors."""
        return self.containers(_MASTER)

    def tasks(self) -> int:
        """Executors in which a task runs: Python's daemon has a child for it."""
        return sum(len(_descendants(each)) > 1 for each in self.executors())

    def _write_files(self) -> None:
        self.conf.mkdir()
        queues = {
            f"{_CAPACITY}.root.queues": f"default,{QUEUE}",
            f"{_CAPACITY}.root.default.capacity": "50",
            f"{_CAPACITY}.root.{QUEUE}.capacity": "50",
            # A user, and applications that begin, may have all that a queue has.
            f"{_CAPACITY}.root.{QUEUE}.user-limit-factor": "10",
            f"{_CAPACITY}.maximum-am-resource-percent": "1",
        }
        core = {"fs.defaultFS": "file:///", "hadoop.tmp.dir": str(self.home / "tmp")}
        files = {"core-site": core, "yarn-site": self._site, "capacity-scheduler": queues}
        for name, properties in files.items():
            (self.conf / f"{name}.xml").write_text(_xml(properties))

    def _start(self, role: str, *arguments: str) -> Process[bytes]:
        self._started += 1
        log = self.home / f"{self._started}.log"
        jars = sorted(_JARS.glob("*.jar"))
        if not jars:
            message = f"There are no jars of YARN in {_JARS}: run ./scripts/fetch-kafka --tests."
            raise KafkaMissing(message)
        path = ":".join(map(str, [self.conf, *jars, *_hadoops_jars()]))
        java = [
            str(java_launcher()),
            *QUICK,
            "-Xmx256m",
            "-Dlog4j2.level=INFO",
            f"-Djava.io.tmpdir={self.home}",
            "-cp",
            path,
        ]
        # Containers inherit what the NodeManager has, and are not to find mm2 that way.
        env = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
        with log.open("wb") as output:
            command = [*java, f"{_SERVER}.{role}", *arguments]
            return Process(command, cwd=self.home, stdout=output, stderr=STDOUT, env=env)

    def _get(self, path: str) -> Any:
        try:
            with urlopen(self._url(path), timeout=_ANSWERS_WITHIN_S) as answer:
                return json.load(answer)
        except (URLError, ConnectionError) as error:  # It does not listen yet.
            raise LookupError(str(error)) from error

    def _url(self, path: str) -> str:
        return f"http://{HOST}:{self._web}/ws/v1/cluster/{path}"


def _hadoops_jars() -> list[Path]:
    """Those of PySpark that Hadoop needs."""
    wanted = ("hadoop-client-", "jakarta.", "jcl-over-slf4j-", "log4j-", "slf4j-api-")
    return [jar for jar in sparks_jars() if jar.name.startswith(wanted)]


def _xml(properties: Mapping[str, str]) -> str:
    lines = (
        f"<property><name>{name}</name><value>{escape(value)}</value></property>\n"
        for name, value in properties.items()
    )
    return f"<configuration>\n{''.join(lines)}</configuration>\n"


def _user() -> str:
    return psutil.Process().username()


def _descendants(process: psutil.Process) -> list[psutil.Process]:
    try:
        return process.children(recursive=True)
    except psutil.NoSuchProcess:
        return []
