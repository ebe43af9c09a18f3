"""Settings of Spark for a driver in a pod: executors are pods that find it, and end with it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from mm2.config.text.expressions import expressions
from mm2.interchange.named_files import (
    CONFIGURATION_FOLDER,
    NamedFile,
    named_files,
    names_file,
    read_by_tasks,
)
from mm2.interchange.secret_references import with_variables

IMAGE_KEY: Final = "spark.kubernetes.container.image"
POD_FIELDS: Final[Mapping[str, str]] = {
    "MM2_POD_IP": "status.podIP",
    "MM2_POD_NAME": "metadata.name",
    "MM2_POD_NAMESPACE": "metadata.namespace",
}
"""Fields of the driver's pod by the variables that hold them."""

EXECUTOR_FILE: Final = "executor.yaml"
"""What executors mount, as a pod template beside the configuration."""

_TEMPLATE_KEY: Final = "spark.kubernetes.executor.podTemplateFile"
_TEMPLATE: Final = f"{CONFIGURATION_FOLDER}/{EXECUTOR_FILE}"
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


def files_of_executors(properties: Mapping[str, str]) -> tuple[NamedFile, ...]:
    """
    The files that executors need, and get by a template of ours.

    Those of folders that config providers read are among them: executors mount no such folder.
    None if the file names a template of its own: executors have one at most.
    """
    return () if _is_own(properties) else named_files(read_by_tasks(properties), ())


def has_own_template(properties: Mapping[str, str]) -> bool:
    """Whether files for executors are up to the template of the user's own."""
    return _is_own(properties) and bool(named_files(read_by_tasks(properties), ()))


def _is_own(properties: Mapping[str, str]) -> bool:
    """A configuration that was rendered before names our template, which is made again."""
    return properties.get(_TEMPLATE_KEY, _TEMPLATE).strip() != _TEMPLATE


def with_executor_files(
    properties: Mapping[str, str], files: Sequence[NamedFile]
) -> dict[str, str]:
    """
    The same configuration, with the template that mounts files if there are any.

    Executors begin in a folder of their own: relative paths become what they are in a node.
    """
    if _is_own(properties):
        return dict(properties)
    if not files:
        return {key: value for key, value in properties.items() if key != _TEMPLATE_KEY}
    return {
        **{key: _absolute(key, value) for key, value in properties.items()},
        _TEMPLATE_KEY: _TEMPLATE,
    }


def _absolute(key: str, value: str) -> str:
    is_path = names_file(key) and value.strip() and not any(expressions(value))
    return NamedFile(value.strip()).path if is_path else value
