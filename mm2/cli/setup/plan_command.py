"""``mm2 plan``: what flows would do if they were started now."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import click

from mm2.cli.check_rows import exit_status, graded_lines, graded_row, safe_text
from mm2.cli.completing import flow_option
from mm2.cli.options import FILE, FORMAT, USAGE, end, flows_of, run, tell, wrong_flows
from mm2.cli.progress import waiting
from mm2.cli.rows import Row, rendered
from mm2.core.amounts import bytes_text
from mm2.core.byte_size import parse_size
from mm2.core.checks import Check
from mm2.core.preflight.copy_time import copy_ms
from mm2.core.times import age_text
from mm2.preflight.examination import DEFAULT_RATE, Examination, examine
from mm2.preflight.flow_plan import FlowPlan

_COLUMNS: Final = ["flow", "action", "name", "partitions", "records", "bytes", "detail"]
_WITH_REMEDY: Final = [*_COLUMNS, "remedy"]


class _BytesPerSecond(click.ParamType[int]):
    name = "bytes"

    def convert(
        self, value: str | int, param: click.Parameter | None, ctx: click.Context | None
    ) -> int:
        try:
            rate = value if isinstance(value, int) else parse_size(value)
        except ValueError as error:
            self.fail(f"{value}: {error}", param, ctx)
        if rate < 1:
            self.fail(f"{value}: must be at least 1 byte per second", param, ctx)
        return rate


RATE: Final = click.option(
    "--rate",
    type=_BytesPerSecond(),
    default=DEFAULT_RATE,
    show_default=True,
    help="Bytes per second (50000000, 50MB, 50MiB) that a flow is expected to copy, unless quotas"
    " or limits allow less.",
)
_EMPTY: Final[Row] = dict.fromkeys(_WITH_REMEDY)


@click.command("plan")
@FILE
@flow_option("Only this one, written A->B.")
@RATE
@click.option("--skipped", is_flag=True, help="Also topics that are not mirrored, and why.")
@FORMAT
def plan(file: Path, flow: str | None, rate: int, format_: str, *, skipped: bool) -> None:
    """
    Shows what flows would create, alter and copy if they were started now; changes nothing.

    It is decided as a running flow decides. What is behind is counted from the flow's positions,
    and bytes are those of the brokers' logs. JSON, YAML and TSV have topics that are not mirrored,
    too. Warnings follow: what the target would refuse, what is not allowed, and what was hardly
    meant.

    Exit status: 0 nothing in the way, 1 warnings or errors, 2 wrong usage or a wrong file, 3 a
    cluster cannot be reached.
    """
    found = flows_of(file, flow)
    if not found.flows and not found.failed:
        raise click.UsageError(f"There is no flow {flow or 'that is enabled'}.")
    wrong = [each for each in found.failed if each.is_enabled]
    tell(wrong_flows(file, wrong))
    flows = [each for each in found.flows if each.source.enabled or flow]
    with waiting("looks at clusters and topics"):
        examination = run(lambda: examine(flows, rate=rate))
    rows = [row for each in examination.plans for row in _rows(each)]
    failed = [each for each in examination.checks if each.failed]
    if format_ == "table":
        shown = [row for row in rows if skipped or row["action"] != "skip"]
        click.echo(rendered(_COLUMNS, [*map(_for_people, shown)], format_))
        click.echo()
        click.echo("\n".join([*_summary(examination), *graded_lines(failed)]))
    else:
        click.echo(rendered(_WITH_REMEDY, [*rows, *map(_check, failed)], format_))
    if wrong:
        end(USAGE)
    sys.exit(exit_status(failed))


def _rows(plan: FlowPlan) -> Iterator[Row]:
    flow = str(plan.flow)
    for internal in plan.internal:
        where = plan.flow.source if internal.is_on_source else plan.flow.target
        yield _row(
            flow,
            "create-internal-topic",
            internal.name,
            partitions=internal.partitions,
            detail=f"on {where}, {_replicas(internal.replication_factor)}",
        )
    for new in plan.create:
        settings = ", ".join(f"{key}={value}" for key, value in sorted(new.configs.items()))
        detail = ", ".join(filter(None, [_replicas(new.replication_factor), settings]))
        yield _row(flow, "create-topic", new.name, partitions=new.partitions, detail=detail)
    for grown in plan.grow:
        yield _row(flow, "add-partitions", grown.name, partitions=grown.partitions)
    for change in plan.config_changes:
        detail = f"{change.operation.value} {change.name}"
        value = "" if change.value is None else f"={change.value}"
        yield _row(flow, "alter-config", change.topic, detail=f"{detail}{value}")
    for rule in plan.acls:
        detail = f"{rule.permission} {rule.operation} to {rule.principal} from {rule.host}"
        yield _row(flow, "create-acl", rule.name, detail=f"{rule.pattern_type} {detail}")
    for copy in plan.copies:
        yield {
            **_row(
                flow, "copy", copy.topic, partitions=copy.partitions, detail=f"to {copy.remote}"
            ),
            "records": copy.records,
            "bytes": copy.pending_bytes,
        }
    for topic, reason in plan.skipped.items():
        yield _row(flow, "skip", topic, detail=reason)


def _row(
    flow: str, action: str, name: str, *, partitions: int | None = None, detail: str | None = None
) -> Row:
    return {
        **_EMPTY,
        "flow": flow,
        "action": action,
        "name": name,
        "partitions": partitions,
        "detail": detail,
    }


def _check(check: Check) -> Row:
    row = graded_row(check)
    return {
        **_EMPTY,
        "flow": row["about"],
        "action": row["grade"],
        "name": row["check"],
        "detail": row["message"],
        "remedy": row["remedy"],
    }


def _replicas(factor: int) -> str:
    return "replicas as brokers have it" if factor < 0 else f"replicas {factor}"


def _for_people(row: Row) -> Row:
    return {
        key: safe_text(value) if isinstance(value, str) else value for key, value in row.items()
    }


def _summary(examination: Examination) -> Iterator[str]:
    for plan in examination.plans:
        records = sum(each.records for each in plan.copies)
        rate = examination.rates.get(str(plan.flow), DEFAULT_RATE)
        size = plan.pending_bytes
        much = "unknown bytes: DESCRIBE on the cluster would tell"
        if size == 0:
            much = "0 B"
        elif size is not None:
            takes = age_text(max(1000, copy_ms(size, rate)))
            much = f"{bytes_text(size)}, about {takes} at {bytes_text(round(rate))}/s"
        yield (
            f"{plan.flow}: {len(plan.copies)} topics to copy, {len(plan.create)} of them to create,"
            f" {len(plan.skipped)} left out; {records} records behind, {much}"
        )
