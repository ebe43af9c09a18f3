"""``mm2 translate``: what offsets of one cluster are on the other."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Final

import click

from mm2.cli.group_options import GROUPS, PATTERN, chosen, group_problems, unheard_of
from mm2.cli.options import CHECK_FAILED, FILE, FLOW, FORMAT, end, flow_of, run, tell
from mm2.cli.rows import Row, rendered
from mm2.client.group_status import GroupStatus
from mm2.client.translate_offsets import TranslatedOffset, translate_groups, translate_offset
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

    async def asked() -> tuple[list[TranslatedOffset], list[str]]:
        async with GroupStatus.of(config) as survey:
            if topic is None or offset is None:
                wanted = chosen(groups, pattern, survey.follows)
                found = await translate_groups(survey, wanted, reverse=reverse)
            else:
                where = _partition(topic)
                found = [await translate_offset(survey, where, offset, reverse=reverse)]
            return found, survey.missing

    found, missing = run(asked)
    click.echo(rendered(_COLUMNS, [_row(each) for each in found], format_))
    tell(missing)
    strangers = unheard_of(groups, {each.group for each in found if each.group is not None})
    if strangers or any(each.translated is None for each in found):
        end(CHECK_FAILED, *strangers)


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


def _row(found: TranslatedOffset) -> Row:
    return {
        "group": found.group,
        "topic": found.here.topic,
        "partition": found.here.partition,
        "offset": found.offset,
        "other_topic": None if found.there is None else found.there.topic,
        "translated": found.translated,
        "accuracy": found.accuracy,
        "exact_since": found.exact_since,
    }
