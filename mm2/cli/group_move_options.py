"""What ``mm2 failover`` and ``mm2 failback`` have in common: options, running, and printing."""

from __future__ import annotations

import json
import signal
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final, TypeVar

import click

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
from mm2.cli.rows import Row, rendered
from mm2.core.failover.group_facts import GroupFacts, WithoutCheckpoint
from mm2.core.failover.verdicts import Outcome, Verdict
from mm2.errors import ConfigErrors, FlowError
from mm2.failover.group_move import GroupMove
from mm2.failover.move_plan import MoveOptions, Plan
from mm2.failover.move_route import pair_of, route

F = TypeVar("F", bound=Callable[..., object])

_OFFSETS: Final = ("group", "topic", "partition", "committed", "new", "exact", "current", "end")
_CHECKS: Final = ("outcome", "check", "subject", "reason", "cost")

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

EXECUTE: Final = click.option(
    "--execute", is_flag=True, help="Do it; without, only show what would be done."
)


def move_options(command: F) -> F:
    """Adds the options of all four commands."""
    found: Any = command
    for option in reversed(_OPTIONS):
        found = option(found)
    decorated: F = found
    return decorated


def wishes(
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
        gives_up=lost,
        without_checkpoint=WithoutCheckpoint(without_checkpoint or WithoutCheckpoint.LEAVE),
        drains=usual if drain is None else drain,
        fences=usual if fence is None else fence,
        resumes=bool(resume),
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


def moved(
    file: Path,
    flow: str | None,
    wanted: MoveOptions,
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

    aftermath: list[str] = []

    async def work() -> Plan:
        async with route(pair, is_back=is_back) as way:
            move = GroupMove(way, wanted, _say)
            if not execute:
                return await move.plan()
            with ended_alike():
                try:
                    plan = await move.execute()
                except BaseException:
                    _say(*move.summary())
                    raise
            aftermath.extend(move.summary())
            return plan

    try:
        plan = run(work)
    except FlowError as error:
        end(CHECK_FAILED, str(error))
    click.echo(printed(plan, format_))
    _conclude(plan, aftermath, forced=wanted.forced)


def _say(*news: str) -> None:
    """Says it to whoever listens still: the move goes on, or is undone, all the same."""
    with suppress(OSError):
        tell(news)


@contextmanager
def ended_alike() -> Iterator[None]:
    """
    Ends what runs here in the same way at SIGTERM, or when the terminal is gone, as at Ctrl-C.

    So a flow that was stopped is resumed, or it is said that it was not. What is ignored, as under
    nohup, stays so.
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


def _conclude(plan: Plan, aftermath: Iterable[str], *, forced: bool) -> None:
    if not plan.is_go:
        end(CHECK_FAILED, *_refusals(plan, forced=forced), *aftermath)
    if not plan.is_done:
        tell(["Go. Nothing has been changed; execute --execute does it."])
    tell(aftermath)


def _refusals(plan: Plan, *, forced: bool) -> Iterator[str]:
    stopping = [each for each in plan.verdicts if each.stops(forced=forced)]
    for each in stopping:
        cost = f" With --force: {each.cost}." if each.cost and not forced else ""
        yield f"no-go: {each.subject}: {each.reason}.{cost}"
    if not stopping:
        yield "no-go: there are cautions, and --strict was given."


def printed(plan: Plan, format_: str) -> str:
    """A plan for people or for programs."""
    offsets = [row for facts in plan.groups for row in _offset_rows(facts)]
    checks = [_check_row(verdict) for verdict in plan.verdicts]
    if format_ == "json":
        outcome = {"go": plan.is_go, "done": plan.is_done}
        return json.dumps({**outcome, "offsets": offsets, "checks": checks}, indent=2)
    parts = rendered(_OFFSETS, offsets, format_), rendered(_CHECKS, checks, format_)
    if format_ == "yaml":
        outcome_lines = f"go: {json.dumps(plan.is_go)}\ndone: {json.dumps(plan.is_done)}"
        return f"{outcome_lines}\noffsets:\n{parts[0]}\nchecks:\n{parts[1]}"
    return f"{parts[0]}\n\n{parts[1]}"


def _offset_rows(facts: GroupFacts) -> Iterator[Row]:
    for place in facts.places:
        yield {
            "group": facts.group,
            "topic": place.destination.topic,
            "partition": place.destination.partition,
            "committed": None if place.committed < 0 else place.committed,
            "new": place.offset,
            "exact": place.is_exact,
            "current": place.current,
            "end": place.end,
        }


def _check_row(verdict: Verdict) -> Row:
    return {
        "outcome": verdict.outcome.value,
        "check": verdict.check,
        "subject": verdict.subject,
        "reason": verdict.reason,
        "cost": verdict.cost if verdict.outcome is not Outcome.GO else None,
    }
