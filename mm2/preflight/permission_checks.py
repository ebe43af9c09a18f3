"""Compares what a flow must be allowed to do with what a cluster allows us."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Final

from mm2.core.checks import Check, Verdict, first_few
from mm2.core.model import TopicName
from mm2.core.preflight.acl_commands import Permission, grant_commands
from mm2.core.topics.acls import AclOperation, PatternType, ResourceType
from mm2.core.topics.topic_plan import CreateTopic
from mm2.errors import NotAuthorized
from mm2.kafka.admin import Admin
from mm2.kafka.client_errors import NotSupported
from mm2.kafka.cluster_survey import Rights
from mm2.kafka.security.principal import principal
from mm2.preflight.permissions import Need

CHECK: Final = "permissions"
_UNKNOWN_PRINCIPAL: Final = "User:<the mirror's name>"

Missing = tuple[Permission, str, frozenset[AclOperation]]
"""What to grant, the resource, and what we may not do with it."""


async def check_permissions(
    admin: Admin, needs: Sequence[Need], properties: Mapping[str, str], about: str
) -> list[Check]:
    """
    Finds the permissions that are missing on a cluster.

    Of a topic that does not exist, a cluster tells whether we may describe and create it; of a
    transactional id, whether we may describe it. The rest is taken to be as granted.

    Args:
        properties: of the client, which tell whom to grant it to.
        about: the flow.

    Raises:
        ClusterError: the cluster does not answer.
    """
    try:
        missing = await _missing(admin, needs)
    except NotSupported as error:
        message = f"what we may do on {admin.alias} is not known: {error}"
        return [Check.note(CHECK, about, message)]
    if not missing:
        message = f"{admin.alias} allows what the flow needs"
        return [Check.go(CHECK, about, message)]

    def kind(each: Missing) -> tuple[str, str, bool]:
        return each[0].resource_type, each[0].purpose, each[0].optional

    return [
        _result(list(some), admin, properties, about)
        for _, some in groupby(sorted(missing, key=kind), key=kind)
    ]


async def _missing(admin: Admin, needs: Iterable[Need]) -> list[Missing]:
    rights = await _rights(admin, needs)
    return [
        (each.permission, name, lacking)
        for each in needs
        for name in each.names
        if (
            lacking := frozenset(each.permission.operations)
            - rights[each.permission.resource_type, name]
        )
    ]


async def _rights(admin: Admin, needs: Iterable[Need]) -> dict[tuple[ResourceType, str], Rights]:
    """What we may do with each resource that is needed; all that cannot be known counts as may."""
    found: dict[tuple[ResourceType, str], Rights] = {}
    everything = frozenset(AclOperation)
    names = {each.permission.resource_type: set[str]() for each in needs}
    for each in needs:
        names[each.permission.resource_type].update(each.names)
    for topic, rights in (await _topic_rights(admin, names.get(ResourceType.TOPIC, set()))).items():
        found[ResourceType.TOPIC, topic] = rights
    for group in sorted(names.get(ResourceType.GROUP, ())):
        rights_of_group = await admin.survey.group_rights(group)
        found[ResourceType.GROUP, group] = (
            everything if rights_of_group is None else rights_of_group
        )
    for name in names.get(ResourceType.TRANSACTIONAL_ID, ()):
        may = await admin.survey.may_describe_transactions(name)
        found[ResourceType.TRANSACTIONAL_ID, name] = everything if may else frozenset()
    for name in names.get(ResourceType.CLUSTER, ()):
        of_cluster = await admin.survey.cluster_rights()
        found[ResourceType.CLUSTER, name] = everything if of_cluster is None else of_cluster
    return found


async def _topic_rights(admin: Admin, names: Collection[str]) -> dict[str, Rights]:
    known = await admin.survey.topic_rights(names)
    existing = await admin.list_topics(internal=True)
    everything = frozenset(AclOperation)
    absent = [name for name in names if known[name] is None and name not in existing]
    forbidden = await _not_creatable(admin, absent)
    found: dict[str, Rights] = {}
    for name in names:
        rights = known[name]
        if rights is None:
            found[name] = everything - ({AclOperation.CREATE} if name in forbidden else set())
        else:
            # What is there need not be created.
            found[name] = rights | {AclOperation.CREATE} if name in existing else rights
    return found


async def _not_creatable(admin: Admin, names: Iterable[str]) -> set[str]:
    topics = [CreateTopic(name=TopicName(n), partitions=1, replication_factor=-1) for n in names]
    failures = await admin.create_topics(topics, validate_only=True)
    return {name for name, error in failures.items() if isinstance(error, NotAuthorized)}


def _result(
    missing: Sequence[Missing], admin: Admin, properties: Mapping[str, str], about: str
) -> Check:
    first = missing[0][0]
    granted = {_granted(permission, name) for permission, name, _ in missing}
    commands = grant_commands(
        granted,
        principal=principal(properties) or _UNKNOWN_PRINCIPAL,
        servers=admin.servers,
        is_secured=properties.get("security.protocol", "PLAINTEXT").upper() != "PLAINTEXT",
    )
    shown = first_few(sorted({name for _, name, _ in missing}))
    lacking = sorted({each.value for _, _, some in missing for each in some})
    kind = first.resource_type.value.lower().replace("_", " ")
    message = (
        f"{admin.alias} does not allow {', '.join(lacking)} on {kind} {shown}, to {first.purpose}"
    )
    return Check(
        name=CHECK,
        subject=about,
        verdict=Verdict.CAUTION if first.optional else Verdict.NO_GO,
        sentence=message,
        remedy="\n".join(commands),
    )


def _granted(permission: Permission, name: str) -> Permission:
    if permission.pattern_type is PatternType.PREFIXED:
        return permission
    return replace(permission, name=name)
