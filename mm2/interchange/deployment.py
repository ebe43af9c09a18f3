"""What manifests have to know of a mirror."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from mm2 import __version__
from mm2.config.checks.failed_flows import FlowsOfFile
from mm2.config.flow_config import FlowConfig
from mm2.config.mirror_maker_config import MirrorMakerConfig
from mm2.interchange.deployed_listeners import DeployedListeners, deployed_listeners
from mm2.interchange.named_files import NamedFile, named_files
from mm2.interchange.properties_text import property_line
from mm2.interchange.scrape_job import ScrapeJob, scrape_job
from mm2.interchange.secret_references import References, references
from mm2.interchange.spark_on_kubernetes import (
    POD_FIELDS,
    files_of_executors,
    for_driver_in_pod,
    is_on_kubernetes,
    with_executor_files,
)
from mm2.stop_deadlines import CLASSES_S, JVM_S, PROCESS_S, REST_S, herders_s

_KUBERNETES: Final = "kubernetes"
_CONTAINERS: Final = {"compose", _KUBERNETES}
_MARGIN_S: Final = 10
"""Between the end of a process and its being killed."""

_DRIVER_MB: Final = 1024
_TASK_MB: Final = 256
_AUTO_TASKS: Final = 2
"""What memory is asked for where the number of tasks follows the lag."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Deployment:
    """
    A mirror, as the templates see it.

    Attributes:
        name: of the objects that are made.
        image: of the container.
        replicas: nodes, which share the flows.
        properties: text of the configuration, without secrets.
        references: what it reads from elsewhere.
        files: that it names by their paths, outside of folders that it reads as a whole.
        executor_files: those that tasks need where these are in pods of their own.
        listeners: that others than the machine itself can reach.
        scrape: how Prometheus gets a node's metrics; None if it does not.
        grace_s: seconds from SIGTERM until the process may be killed.
        memory_mb: that a node needs, with tasks of all flows unless these are in pods of their own.
        pod_fields: fields of the node's pod by the variables that hold them, for Spark's executors
            in pods; without them, tasks run in the node.
        compiled_folder: where containers keep what Numba compiles.
    """

    name: str
    image: str
    replicas: int
    namespace: str | None
    properties: str
    references: References
    files: Sequence[NamedFile]
    executor_files: Sequence[NamedFile]
    listeners: DeployedListeners
    scrape: ScrapeJob | None
    grace_s: int
    memory_mb: int
    pod_fields: Mapping[str, str]
    version: str = __version__
    compiled_folder: str = "/var/cache/numba"

    @property
    def secret_files(self) -> list[NamedFile]:
        """The files of the secret that nodes and executors mount."""
        return list({each.path: each for each in (*self.files, *self.executor_files)}.values())

    @property
    def secrets(self) -> list[str]:
        """The variables that hold secrets."""
        return [each for each in self.references.variables if each not in self.pod_fields]


def deployment_of(
    maker: MirrorMakerConfig,
    kind: str,
    *,
    name: str,
    image: str,
    replicas: int,
    namespace: str | None,
) -> Deployment:
    """
    The mirror that a file describes.

    In a container, REST listens on all interfaces if the file does not say where: probes reach it.
    Where it asks for a login, metrics and health get a listener of their own.

    Raises:
        ConfigErrors: REST settings of the file are wrong.
    """
    flows = FlowsOfFile.of(maker, maker.cluster_pairs()).flows
    in_pods = kind == _KUBERNETES and is_on_kubernetes(maker.raw)
    found = references(for_driver_in_pod(maker.raw) if in_pods else maker.raw)
    listeners = deployed_listeners(maker, opens=kind in _CONTAINERS)
    written = found.properties
    in_executors = files_of_executors(written) if in_pods else ()
    if in_pods:
        written = with_executor_files(written, in_executors)
    tasks = 0 if in_pods else sum(_tasks(flow) for flow in flows if flow.source.enabled)
    return Deployment(
        name=name,
        image=image,
        replicas=replicas,
        namespace=namespace,
        properties=_written({**written, **listeners.added}),
        references=found,
        files=named_files(found.properties, found.folders),
        executor_files=in_executors,
        listeners=listeners,
        scrape=scrape_job(maker, name),
        grace_s=_grace_s(flows),
        memory_mb=_DRIVER_MB + _TASK_MB * tasks,
        pod_fields=POD_FIELDS if in_pods else {},
    )


def _tasks(flow: FlowConfig) -> int:
    return flow.source.tasks_max or _AUTO_TASKS


def _grace_s(flows: Sequence[FlowConfig]) -> int:
    drains = [herders_s(flow.herder.shutdown_timeout) for flow in flows]
    longest = max((PROCESS_S, *(drain + REST_S + JVM_S + CLASSES_S for drain in drains)))
    return math.ceil(longest) + _MARGIN_S


def _written(properties: Mapping[str, str]) -> str:
    return "".join(f"{property_line(*each)}\n" for each in properties.items())
