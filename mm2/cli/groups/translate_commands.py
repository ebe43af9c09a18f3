"""``mm2 translate``: what offsets of one cluster are on the other."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Final

import click

from mm2.cli.check_rows import conclude
from mm2.cli.groups.group_options import GROUPS, PATTERN, chosen, group_problems, unknown_groups
from mm2.cli.options import FILE, FLOW, FORMAT, flow_of, run
from mm2.cli.rows import Row, rendered
from mm2.client.group_status import GroupStatus
from mm2.client.translate_offsets import translate_groups, translate_offset
from mm2.core.checks import Check
from mm2.core.failover.group_partition import GroupPartition
from mm2.core.model import TopicName, TopicPartition

_COLUMNS: Final = [
    "group",
    "topic",
    "partition",
    "offset",
    "other_topic",
    "translated",
    "accuracy",
    "exact_since",
]


@click.command("translate")
@FILE
@FLOW
@GROUPS
@PATTERN
@click.option("--topic", metavar="TOPIC:P", help="A partition; with --offset.")
@click.option("--offset", type=click.IntRange(min=0), help="Of the record to read next.")
@click.option(
    "--reverse", is_flag=True, help="From the target back to the source; --topic is the copy."
)
@FORMAT
def translate(
    file: Path,
    flow: str | None,
    groups: tuple[str, ...],
    pattern: str | None,
    format_: str,
    *,
    topic: str | None,
    offset: int | None,
    reverse: bool,
) -> None:
    """
    Translates an offset, or what groups have committed, into offsets of the other cluster.

    Exact: the record there is the first unread one. Approximate: it may be one before it, never
    one behind it.

    Exit status: 0 done, 1 something cannot be translated, 2 wrong usage, 3 a cluster that is needed
    cannot be reached.
    """
    by_groups = bool(groups) or pattern is not None
    problems = [*group_problems(groups, pattern), *_problems(topic, offset, by_groups=by_groups)]
    config = flow_of(file, flow, problems)

    async def asked() -> tuple[list[GroupPartition], list[Check]]:
        async with GroupStatus.of(config) as status:
            if topic is None or offset is None:
                is_meant = chosen(groups, pattern, status.follows)
                found = await translate_groups(status, is_meant, reverse=reverse)
            else:
                where = _partition(topic)
                found = [await translate_offset(status, where, offset, reverse=reverse)]
            return found, status.missing

    found, missing = run(asked)
    click.echo(rendered(_COLUMNS, [_row(each) for each in found], format_))
    known = {each.group for each in found if each.group is not None}
    conclude([*missing, *unknown_groups(groups, known), *_untranslated(found)])


def _untranslated(found: Collection[GroupPartition]) -> Iterable[Check]:
    if count := sum(not each.is_known for each in found):
        sentence = f"{count} of {len(found)} cannot be translated"
        yield Check.no_go("translation", "offsets", sentence, remedy="see their accuracy")


def _problems(topic: str | None, offset: int | None, *, by_groups: bool) -> Iterable[str]:
    if by_groups == (topic is not None):
        yield "Give either --group, as often as needed, or --pattern, or --topic with --offset."
    if (topic is None) != (offset is None):
        yield "--topic and --offset belong together."
    if topic is not None and not re.fullmatch(r".+:\d+", topic, re.ASCII):
        yield f"--topic {topic}: write TOPIC:0"


def _partition(written: str) -> TopicPartition:
    topic, _, number = written.rpartition(":")
    return TopicPartition(TopicName(topic), int(number))


def _row(found: GroupPartition) -> Row:
    return {
        "group": found.group,
        "topic": None if found.origin is None else found.origin.topic,
        "partition": None if found.origin is None else found.origin.partition,
        "offset": found.committed,
        "other_topic": None if found.destination is None else found.destination.topic,
        "translated": found.translated_offset,
        "accuracy": found.accuracy.value,
        "exact_since": found.exact_since,
    }
