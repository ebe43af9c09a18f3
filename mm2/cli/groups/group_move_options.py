"""What ``mm2 failover`` and ``mm2 failback`` share: options, running, and printing."""

from __future__ import annotations

import json
import signal
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final, TypeVar

import click

from mm2.cli.check_rows import COLUMNS, check_row, refusals
from mm2.cli.options import (
    CHECK_FAILED,
    FILE,
    FLOW,
    FORMAT,
    USAGE,
    end,
    flow_of,
    maker_of,
    refuse_usage,
    run,
    tell,
)
from mm2.cli.progress import waiting
from mm2.cli.rows import Row, rendered
from mm2.core.failover.moving_group import MovingGroup, WithoutCheckpoint
from mm2.errors import ConfigErrors, FlowError
from mm2.failover.group_move import GroupMove
from mm2.failover.move_plan import MoveOptions, Plan
from mm2.failover.move_route import pair_of, route

F = TypeVar("F", bound=Callable[..., object])

_OFFSETS: Final = ("group", "topic", "partition", "committed", "new", "exact", "current", "end")

_OPTIONS: Final = (
    FILE,
    FLOW,
    click.option("--group", "groups", multiple=True, help="A group to move; may be repeated."),
    click.option("--all-groups", is_flag=True, help="All groups that the flow follows."),
    click.option("--force", is_flag=True, help="Go on in spite of a no-go; it says what it costs."),
    click.option("--strict", is_flag=True, help="Take cautions for a no-go."),
    click.option(
        "--timeout",
        type=click.FloatRange(min=0),
        default=60.0,
        show_default=True,
        metavar="SECONDS",
        help="How long to wait for what is not copied yet.",
    ),
    click.option(
        "--max-heartbeat-age",
        type=click.FloatRange(min=0),
        default=30.0,
        show_default=True,
        metavar="SECONDS",
        help="How old the last heartbeat may be.",
    ),
    FORMAT,
)

DRAIN: Final = click.option(
    "--drain/--no-drain",
    default=None,
    help="Wait until everything is copied, not only what the groups have read. "
    "Usual with --all-groups of a failover.",
)


def move_options(command: F) -> F:
    """Adds the options of all four commands."""
    found: Any = command
    for option in reversed(_OPTIONS):
        found = option(found)
    decorated: F = found
    return decorated


def chosen_options(
    *,
    groups: tuple[str, ...],
    all_groups: bool,
    force: bool,
    strict: bool,
    timeout: float,
    max_heartbeat_age: float,
    planned: bool = True,
    lost: bool = False,
    drain: bool | None = None,
    fence: bool | None = None,
    resume: bool | None = None,
    without_checkpoint: str | None = None,
) -> MoveOptions:
    """
    What the options ask for; None stands for what is usual.

    All groups together are the whole flow: everything is copied first, and nothing comes late.

    Raises:
        UsageError: options that do not go together.
    """
    refuse_usage(
        [
            *_usage_problems(
                groups, all_groups=all_groups, planned=planned, lost=lost, drain=drain
            ),
            *_guess_problems(without_checkpoint, planned=planned),
        ]
    )
    usual = all_groups and planned
    return MoveOptions(
        groups=None if all_groups else tuple(dict.fromkeys(groups)),
        is_planned=planned,
        assume_lost=lost,
        without_checkpoint=WithoutCheckpoint(without_checkpoint or WithoutCheckpoint.LEAVE),
        drain=usual if drain is None else drain,
        stop_flow=usual if fence is None else fence,
        resume_flow=bool(resume),
        forced=force,
        strict=strict,
        timeout_s=timeout,
        heartbeat_age_ms=round(max_heartbeat_age * 1000),
    )


def _usage_problems(
    groups: tuple[str, ...], *, all_groups: bool, planned: bool, lost: bool, drain: bool | None
) -> Iterator[str]:
    if all_groups == bool(groups):
        yield "Give either --group, as often as needed, or --all-groups."
    if drain and not planned:
        yield "--drain needs the source; it cannot go with --unplanned."
    if lost and planned:
        yield "--lost goes with --unplanned only."


def _guess_problems(without_checkpoint: str | None, *, planned: bool) -> Iterator[str]:
    if without_checkpoint is not None and planned:
        yield "--without-checkpoint goes with --unplanned only: a planned move needs none."


def move(
    file: Path,
    flow: str | None,
    options: MoveOptions,
    *,
    is_back: bool,
    execute: bool,
    format_: str,
) -> None:
    """Plans or makes a move, prints it, and ends with the exit status that belongs to it."""
    try:
        pair = pair_of(maker_of(file), flow_of(file, flow))
    except ConfigErrors as errors:
        end(USAGE, *(f"{file}: {problem}" for problem in errors.problems))

    summary: list[str] = []

    async def work() -> Plan:
        async with route(pair, is_back=is_back) as direction:
            group_move = GroupMove(direction, options, _report)
            if not execute:
                return await group_move.plan()
            with ended_alike():
                try:
                    plan = await group_move.execute()
                except BaseException:
                    _report(*group_move.summary())
                    raise
            summary.extend(group_move.summary())
            return plan

    try:
        with waiting(f"{'moves' if execute else 'looks at'} groups"):
            plan = run(work)
    except FlowError as error:
        end(CHECK_FAILED, str(error))
    click.echo(rendered_plan(plan, format_))
    _conclude(plan, summary, forced=options.forced)


def _report(*sentences: str) -> None:
    """Shows progress, if the terminal is there still: the move goes on, or is undone, anyway."""
    with suppress(OSError):
        tell(sentences)


@contextmanager
def ended_alike() -> Iterator[None]:
    """
    Ends what runs here in the same way at SIGTERM, or when the terminal is gone, as at Ctrl-C.

    So a flow that was stopped is resumed, or a sentence names it. What is ignored, as under nohup,
    stays so.
    """
    interrupt = signal.getsignal(signal.SIGINT)
    changed = [
        each
        for each in (signal.SIGTERM, signal.SIGHUP)
        if threading.current_thread() is threading.main_thread()
        and callable(interrupt)
        and signal.getsignal(each) is signal.SIG_DFL
    ]
    for number in changed:
        signal.signal(number, interrupt)
    try:
        yield
    finally:
        for number in changed:
            signal.signal(number, signal.SIG_DFL)


def _conclude(plan: Plan, summary: Iterable[str], *, forced: bool) -> None:
    if not plan.is_go:
        end(CHECK_FAILED, *refusals(plan.checks, forced=forced), *summary)
    if not plan.is_done:
        tell(["Go. Nothing has been changed; execute --execute does it."])
    tell(summary)


def rendered_plan(plan: Plan, format_: str) -> str:
    """A plan for people or for programs."""
    offsets = [row for group in plan.groups for row in _offset_rows(group)]
    checks = [check_row(check) for check in plan.checks]
    if format_ == "json":
        outcome = {"go": plan.is_go, "done": plan.is_done}
        return json.dumps({**outcome, "offsets": offsets, "checks": checks}, indent=2)
    parts = rendered(_OFFSETS, offsets, format_), rendered(COLUMNS, checks, format_)
    if format_ == "yaml":
        outcome_lines = f"go: {json.dumps(plan.is_go)}\ndone: {json.dumps(plan.is_done)}"
        return f"{outcome_lines}\noffsets:\n{parts[0]}\nchecks:\n{parts[1]}"
    return f"{parts[0]}\n\n{parts[1]}"


def _offset_rows(group: MovingGroup) -> Iterator[Row]:
    for each in group.partitions:
        yield {
            "group": group.group,
            "topic": each.destination.topic,
            "partition": each.destination.partition,
            "committed": None if each.committed < 0 else each.committed,
            "new": each.new_offset,
            "exact": each.is_exact,
            "current": each.target_offset,
            "end": each.end,
        }
