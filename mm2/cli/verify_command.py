"""
``mm2 verify``, and its first command, ``copies``.

It compares a flow's copies with their source, record by record, in Spark. The other commands have
modules of their own.
"""

from __future__ import annotations

import json
import secrets
import signal
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click
import yaml
from click.shell_completion import CompletionItem

from mm2.cli.options import (
    CHECK_FAILED,
    FILE,
    FLOW,
    FORMAT,
    UNREACHABLE,
    USAGE,
    end,
    flow_of,
    patterns_of,
    run,
    tell,
)
from mm2.cli.progress import WeighedProgress, progress_bar, waiting
from mm2.cli.rows import Row, rendered
from mm2.cli.verify_rebalance_command import rebalance
from mm2.cli.verify_replicas_command import replicas
from mm2.config.flow_config import FlowConfig
from mm2.errors import FatalError

if TYPE_CHECKING:  # NumPy takes a second to import, and other commands do not need it.
    from flows.verify.comparison_spec import ComparedPart, ComparisonSpec, PartResult
    from mm2.client.plan_verification import VerificationPlan
    from mm2.client.verification_report import VerificationReport

_COLUMNS: Final = (
    *("topic", "partitions", "source", "remote", "equal"),
    *("lost", "duplicated", "reordered", "altered", "added"),
    *("behind", "not_comparable", "compacted", "result"),
)
_DIFFERENCES: Final = (
    *("topic", "partition", "kind", "source_offset", "remote_offset", "fields"),
    *("source_digest", "remote_digest", "confirmed"),
)
_SEEDS: Final = 1 << 32
_INTERRUPTED: Final = 128 + signal.SIGINT
_COPIES: Final = "copies"


@click.command("copies")
@FILE
@FLOW
@click.option(
    "--topics",
    metavar="PATTERN[,PATTERN...]",
    help="Only these of the topics that the flow mirrors, as in the key topics.",
)
@click.option(
    "--sample/--full",
    default=False,
    show_default="--full",
    help="Both ends of each partition and some random parts, or all records.",
)
@click.option("--seed", type=click.IntRange(0), help="Draws the same random parts again.")
@click.option(
    "--differences",
    "most",
    type=click.IntRange(0),
    default=20,
    show_default=True,
    help="How many differing records are shown.",
)
@FORMAT
def copies(
    file: Path,
    flow: str | None,
    *,
    topics: str | None,
    sample: bool,
    seed: int | None,
    most: int,
    format_: str,
) -> None:
    """
    Compares the copies of a flow with their source.

    Reads both logs, as a Spark job, and compares key, value, headers and timestamp of each record,
    their number and their order. A mirror may run meanwhile: records behind its positions may be
    without copies. What differs is shown by offsets and digests, never by content.

    Exit status: 0 no difference, 1 copies differ or are not confirmed, 2 wrong usage, or Spark does
    not start, 3 a cluster cannot be reached or refuses, 130 interrupted.
    """
    if seed is not None and not sample:
        raise click.UsageError("--seed is for --sample: leave it out, or add --sample.")
    config, wanted = flow_of(file, flow), patterns_of(topics)
    drawn = (secrets.randbelow(_SEEDS) if seed is None else seed) if sample else None
    from mm2.client.plan_verification import plan_verification  # noqa: PLC0415 - see above

    with waiting(f"looks at the topics of {config.flow}"):
        plan = run(
            lambda: plan_verification(config, wanted=wanted.__contains__, sample=drawn, most=most)
        )
    if not plan.topics:
        raise click.UsageError("The source has no such topic that the flow mirrors.")
    if drawn is not None:
        tell(
            [f"A sample: both ends of each partition and random parts; --seed {drawn} repeats it."]
        )
    report = _report(plan, _compared(config, plan), most)
    click.echo(_shown(config, report, drawn, format_))
    if report.failures:
        end(UNREACHABLE if report.is_unreachable else CHECK_FAILED, *report.failures)
    tell([report.summary])
    if report.differs:
        sys.exit(CHECK_FAILED)


def _compared(config: FlowConfig, plan: VerificationPlan) -> list[PartResult]:
    """Runs the Spark job, with a bar on the terminal that shows how far it is."""
    if not plan.parts:
        return []
    from flows.spark.batch_job import run_tasks  # noqa: PLC0415 - see above
    from flows.spark.spark_job import password_keys  # noqa: PLC0415

    progress = WeighedProgress([part.range.size for part in plan.parts])
    with progress_bar(f"compares {config.flow}", progress.total) as advance:
        try:
            return run_tasks(
                config.spark,
                _task(plan.spec, plan.parts),
                len(plan.parts),
                title=f"verifies {config.flow}",
                reached=lambda part, done: advance(progress.reached(part, done)),
                ended=lambda part: advance(progress.ended(part)),
                passwords=password_keys(plan.spec.source, plan.spec.target),
            )
        except FatalError as error:
            end(USAGE, str(error))
        except KeyboardInterrupt:
            end(_INTERRUPTED, "Interrupted: nothing is known of the copies.")


def _task(spec: ComparisonSpec, parts: list[ComparedPart]) -> Callable[[int], PartResult]:
    """What tasks run: only they need the compiled code, which takes seconds to import."""

    def compare(index: int) -> PartResult:
        from flows.spark.task_progress import ProgressLines  # noqa: PLC0415
        from flows.verify.compare_part import compare_part  # noqa: PLC0415
        from mm2.telemetry.logs import configure_task_logs  # noqa: PLC0415

        configure_task_logs()
        return compare_part(spec, parts, index, ProgressLines(index))

    return compare


def _report(plan: VerificationPlan, results: Sequence[PartResult], most: int) -> VerificationReport:
    from mm2.client.verification_report import verification_report  # noqa: PLC0415 - see above

    return verification_report(plan, results, most)


def _tables(report: VerificationReport) -> str:
    text = rendered(_COLUMNS, [_counts(row) for row in report.topics], "table")
    if not report.differences:
        return text
    return f"{text}\n\n{rendered(_DIFFERENCES, report.differences, 'table')}"


def _counts(row: Row) -> Row:
    if row["differs"]:
        return {**row, "result": "differs"}
    return {**row, "result": "equal" if row["compared"] else "not compared"}


def _shown(config: FlowConfig, report: VerificationReport, seed: int | None, format_: str) -> str:
    """TSV has the topics alone; JSON and YAML have all."""
    if format_ == "table":
        return _tables(report)
    if format_ == "tsv":
        return rendered(_COLUMNS, [_counts(row) for row in report.topics], format_)
    document: dict[str, Any] = {
        "flow": str(config.flow),
        "mode": "full" if seed is None else "sample",
        "seed": seed,
        "differs": report.differs,
        "failures": report.failures,
        "topics": [dict(row) for row in report.topics],
        "partitions": [dict(row) for row in report.partitions],
        "differences": [dict(row) for row in report.differences],
    }
    if format_ == "json":
        return json.dumps(document, indent=2)
    return yaml.safe_dump(document, sort_keys=False).rstrip()


class VerifyGroup(click.Group):
    """A group of which ``copies`` is meant where no other command is named."""

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Commands, and files if it is none."""
        return [CompletionItem(incomplete, type="file"), *super().shell_complete(ctx, incomplete)]

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Puts the name of the command before its arguments, where it is left out."""
        if ctx.resilient_parsing and not args:
            return super().parse_args(ctx, args)
        if not args or args[0] not in {*self.commands, *ctx.help_option_names}:
            args = [_COPIES, *args]
        return super().parse_args(ctx, args)


@click.group("verify", cls=VerifyGroup)
def verify() -> None:
    """
    Compares copies with their source, replicas with each other, or checks who owns partitions.

    ``mm2 verify FILE`` is ``mm2 verify copies FILE``; a file of a command's name is ``./replicas``.
    """


verify.add_command(copies)
verify.add_command(replicas)
verify.add_command(rebalance)
