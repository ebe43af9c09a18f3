"""Status records for connectors that no worker runs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from mm2.core.connect.config_records import TargetState
from mm2.core.connect.status_records import RunState, TaskKey, encode_status, encode_topic
from mm2.core.connect.status_table import StatusTable

_IS_NO_PAUSE: Final = (RunState.FAILED, RunState.PAUSED)


def statuses_on_worker_stop(said: StatusTable) -> Iterator[tuple[bytes, bytes | None]]:
    """
    Keys and values of what a worker writes that ends, as Connect's do (``WorkerConnector``).

    Nobody has them then, whatever is wanted of them; but a task that has failed has ended before,
    and why it did is not forgotten.

    Args:
        said: what is said of connectors that no other worker runs.
    """
    for key, status in said.statuses.items():
        has_failed = isinstance(key, TaskKey) and status.state is RunState.FAILED
        if status.state is not RunState.UNASSIGNED and not has_failed:
            yield encode_status(key, replace(status, state=RunState.UNASSIGNED, trace=None))


def statuses_when_idle(
    said: StatusTable, wanted: TargetState | None
) -> Iterator[tuple[bytes, bytes | None]]:
    """
    Keys and values of what to write of a connector that is to rest, and does.

    What has failed is not paused: Connect goes on saying why, until it is started or stopped.

    Args:
        said: what is said of it.
        wanted: what is wanted of it, but not that it runs; None if it was deleted.
    """
    state = RunState.STOPPED if wanted is None else RunState[wanted.name]
    for key, status in said.statuses.items():
        if wanted is None or (state is RunState.STOPPED and isinstance(key, TaskKey)):
            yield encode_status(key, None)
        elif status.state is not state and (status.state, state) != _IS_NO_PAUSE:
            yield encode_status(key, replace(status, state=state, trace=None))
    if wanted is None:
        yield from (encode_topic(key, None) for key in said.topics)
