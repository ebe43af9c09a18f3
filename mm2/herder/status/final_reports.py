"""
What the tasks of a flow said when they ended.

A task that has drained and committed says so in its last report. One that has not said so may still
be at it, or frozen: it would come back, drain, and commit where it was. It cannot once it has been
silent for longer than its leader's lease counts, because then it commits nothing any more.
"""

from __future__ import annotations

from mm2.core.connect.run_states import LOST_MS
from mm2.core.connect.status_records import RunState
from mm2.core.model import SOURCE_CONNECTOR
from mm2.herder.view.flow_snapshot import FlowSnapshot


def all_tasks_ended(picture: FlowSnapshot) -> bool:
    """
    Whether every task of the flow's last leader has said that it has ended, and none will start.

    A flow that is wanted to run may be led by the next node at once.

    Args:
        picture: of the flow.
    """
    lease, reports = picture.lease, picture.reported()
    is_wanted = picture.desired_state_of(SOURCE_CONNECTOR) is RunState.RUNNING
    if lease is None or (is_wanted and (picture.members.members or not lease.is_released)):
        return False
    bundles = [each.index for each in picture.assigned()]
    return bool(bundles) and all(n in reports and reports[n].is_last for n in bundles)


def active_tasks(picture: FlowSnapshot, now_ms: int) -> list[int]:
    """
    Numbers of tasks that have reported not long ago, but no last word.

    Those of a former leader count, too: they may commit until they know that another one leads.

    Args:
        picture: of the flow.
        now_ms: the time here.
    """
    now_ms = picture.clock_ms(now_ms)
    return sorted(
        number
        for number, report in picture.reports.items()
        if not report.is_last and now_ms - report.time_ms < LOST_MS
    )
