"""Settings of Spark for a driver in a pod: executors are pods that find it, and end with it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from mm2.interchange.secret_references import with_variables

IMAGE_KEY: Final = "spark.kubernetes.container.image"
POD_FIELDS: Final[Mapping[str, str]] = {
    "MM2_POD_IP": "status.podIP",
    "MM2_POD_NAME": "metadata.name",
    "MM2_POD_NAMESPACE": "metadata.namespace",
}
"""Fields of the driver's pod by the variables that hold them."""

_OF_POD: Final = {
    "spark.driver.host": "MM2_POD_IP",
    "spark.kubernetes.driver.pod.name": "MM2_POD_NAME",
    "spark.kubernetes.namespace": "MM2_POD_NAMESPACE",
}


def is_on_kubernetes(raw: Mapping[str, str]) -> bool:
    """Whether executors of Spark are pods."""
    return raw.get("spark.master", "").strip().startswith("k8s:")


def for_driver_in_pod(raw: Mapping[str, str]) -> dict[str, str]:
    """
    The same configuration, with what the driver of executors in pods needs beside it.

    What the file says stays. The owner of the executors is the driver's pod: Kubernetes removes
    them with it.
    """
    missing = {key: variable for key, variable in _OF_POD.items() if key not in raw}
    return with_variables(raw, missing)
