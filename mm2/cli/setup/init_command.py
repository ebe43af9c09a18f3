"""``mm2 init``: a first properties file, for clusters that answer."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import click

from mm2.cli.options import CHECK_FAILED, end, run, tell
from mm2.config.text.properties import load, parse
from mm2.errors import ConfigError, NotAuthorized
from mm2.interchange.fill_template import filled
from mm2.interchange.secret_references import variables_in, variables_of, with_references
from mm2.kafka.admin import Admin
from mm2.kafka.client_errors import SecurityDisabled
from mm2.kafka.flow_clusters import check_reachable

_MOST_REPLICAS: Final = 3
_INTERNAL: Final = (
    "checkpoints.topic.replication.factor",
    "heartbeats.topic.replication.factor",
    "offset-syncs.topic.replication.factor",
    "config.storage.replication.factor",
    "offset.storage.replication.factor",
    "status.storage.replication.factor",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class InitialCluster:
    """A cluster as it stands in the file; ``settings`` are those of its clients."""

    alias: str
    servers: str
    settings: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class _Asked:
    """What clusters say: how many brokers the smaller one has, and whether both have ACLs."""

    brokers: int | None = None
    acls: bool = True


_CONFIG: Final = click.Path(path_type=Path, exists=True, dir_okay=False)


@click.command("init")
@click.argument("file", type=click.Path(path_type=Path), default="mm2.properties")
@click.option("--source", metavar="ALIAS=SERVERS", help="Asked for if not given.")
@click.option("--target", metavar="ALIAS=SERVERS", help="Asked for if not given.")
@click.option("--source-config", type=_CONFIG, help="Client settings, as Kafka's tools take them.")
@click.option("--target-config", type=_CONFIG, help="The same for the target.")
@click.option("--topics", default=".*", show_default=True, help="Regular expressions.")
@click.option("--groups", default=".*", show_default=True, help="Regular expressions.")
@click.option("--tasks", type=click.IntRange(min=1), default=2, show_default=True)
@click.option("--both-ways", is_flag=True, help="Also from the target to the source.")
@click.option("--offline", is_flag=True, help="Do not ask the clusters.")
@click.option("--force", is_flag=True, help="Overwrite the file.")
def init(
    file: Path,
    *,
    source: str | None,
    target: str | None,
    source_config: Path | None,
    target_config: Path | None,
    topics: str,
    groups: str,
    tasks: int,
    both_ways: bool,
    offline: bool,
    force: bool,
) -> None:
    """
    Writes a commented properties file for a mirror of two clusters.

    Asks the clusters how many replicas they can have, and whether they have ACLs. Secrets of the
    client settings become variables of the environment.

    Exit status: 0 written, 1 something is wrong in what was written, 2 wrong usage, 3 a cluster
    cannot be reached; nothing is written then.
    """
    if file.exists() and not force:
        raise click.UsageError(f"{file} is there already: name another, or say --force.")
    given = (("source", source, source_config), ("target", target, target_config))
    clusters = [_cluster(side, text, config) for side, text, config in given]
    if clusters[0].alias == clusters[1].alias:
        raise click.UsageError("Source and target must have different aliases.")
    asked = _Asked() if offline else run(lambda: _ask(clusters))
    values = {
        "topics": topics,
        "groups": groups,
        "tasks": tasks,
        "both_ways": both_ways,
        "brokers": asked.brokers,
        "replicas": min(asked.brokers or _MOST_REPLICAS, _MOST_REPLICAS),
        "acls": asked.acls,
        "internal_factors": _INTERNAL,
    }
    problems = _problems(_text(clusters, values))
    referring = _referring(clusters)
    file.write_text(_text(referring, values), encoding="latin-1")
    tell([f"Wrote {file}. Next: mm2 doctor {file}"])
    if variables := [name for each in referring for name in variables_in(each.settings)]:
        tell([f"Set in the mirror's environment: {', '.join(variables)}"])
    if problems:
        end(CHECK_FAILED, *(f"{file}: {problem}" for problem in problems))


def _cluster(side: str, text: str | None, config: Path | None) -> InitialCluster:
    if text is None:
        text = click.prompt(f"The {side}, written ALIAS=HOST:PORT", err=True)
    alias, separator, servers = str(text).partition("=")
    if not (alias and separator and servers):
        raise click.UsageError(f"--{side}: {text} is not of the form ALIAS=HOST:PORT,HOST:PORT")
    try:
        settings = {} if config is None else dict(load(config).values)
    except ConfigError as error:
        raise click.UsageError(str(error)) from error
    settings.pop("bootstrap.servers", None)
    return InitialCluster(alias=alias.strip(), servers=servers.strip(), settings=settings)


async def _ask(clusters: list[InitialCluster]) -> _Asked:
    answers = await asyncio.gather(*map(_ask_one, clusters))
    return _Asked(min(count for count, _ in answers), all(acls for _, acls in answers))


async def _ask_one(cluster: InitialCluster) -> tuple[int, bool]:
    admin = Admin(cluster.alias, {**cluster.settings, "bootstrap.servers": cluster.servers})
    try:
        await check_reachable(admin)
        return len(await admin.survey.brokers()), await _has_acls(admin)
    finally:
        await admin.close()


async def _has_acls(admin: Admin) -> bool:
    try:
        await admin.describe_topic_acls()
    except SecurityDisabled:
        return False
    except NotAuthorized:
        pass
    return True


def _referring(clusters: list[InitialCluster]) -> list[InitialCluster]:
    """The same clusters, each of whose secrets is in a variable of its own."""
    variables = variables_of(
        {f"{each.alias}.{key}": value for each in clusters for key, value in each.settings.items()}
    )
    return [
        replace(each, settings=with_references(each.settings, variables, f"{each.alias}."))
        for each in clusters
    ]


def _text(clusters: list[InitialCluster], values: Mapping[str, object]) -> str:
    source, target = clusters
    variables = [name for each in clusters for name in variables_in(each.settings)]
    return filled("mm2.properties.j2", source=source, target=target, variables=variables, **values)


def _problems(text: str) -> list[str]:
    # It makes all that a run needs, whose libraries other commands do not have to import.
    from mm2.driver.file_validation import validate  # noqa: PLC0415

    return [str(each.problem) for each in validate(parse(text.encode("latin-1")))]
