"""What can be said of one cluster: whether it answers, what it is, and how it limits us."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from mm2.core.checks import Check
from mm2.core.preflight.acl_commands import shell
from mm2.core.preflight.broker_versions import OLDEST_TRIED, lacks, least_release
from mm2.core.times import age_text
from mm2.errors import AuthenticationFailed, ClusterError, ConfigError, Unavailable
from mm2.kafka.admin import Admin
from mm2.kafka.flow_clusters import check_reachable
from mm2.kafka.security.principal import principal
from mm2.preflight.quotas import quota_check

_SKEW_MS: Final = 5_000
_TLS: Final = ("certificate", "TLS", "truststore", "keystore")


async def connection(admin: Admin, properties: Mapping[str, str]) -> Check:
    """Whether the cluster answers and lets us in."""
    alias = admin.alias
    try:
        await check_reachable(admin)
    except ConfigError as error:
        return _not_reached(alias, "connection", str(error), f"Correct {alias}.{error.key}.")
    except AuthenticationFailed as error:
        check = "tls" if any(word in str(error) for word in _TLS) else "authentication"
        remedy = f"Correct the keys of {alias} that are named; each may also begin with {alias}."
        return _not_reached(alias, check, str(error), remedy)
    except ClusterError as error:
        remedy = (
            f"Start the brokers, or correct {alias}.bootstrap.servers, now {admin.servers}. To try:"
            f"\n{shell('kafka-broker-api-versions.sh', '--bootstrap-server', admin.servers)}"
        )
        return _not_reached(alias, "connection", str(error), remedy)
    who = principal(properties) or "an unknown name"
    protocol = properties.get("security.protocol", "PLAINTEXT")
    message = f"{admin.servers} answers over {protocol}; we are {who}"
    return Check.go("connection", alias, message)


async def cluster_checks(
    admin: Admin, properties: Mapping[str, str], client_ids: Sequence[str]
) -> list[Check]:
    """
    What is found of a cluster that answers.

    Args:
        client_ids: of the clients that copy from it or to it.

    Raises:
        Unavailable: it does not answer any more.
    """
    found = []
    for name, check in (("version", _version), ("clock", _clock)):
        try:
            found.append(await check(admin))
        except Unavailable:
            raise
        except ClusterError as error:
            found.append(Check.note(name, admin.alias, f"not known: {error}"))
    return [*found, await quota_check(admin, properties, client_ids)]


async def _version(admin: Admin) -> Check:
    versions = await admin.survey.api_versions()
    release, missing = least_release(versions), lacks(versions)
    if release is None or missing:
        return Check.caution(
            "version",
            admin.alias,
            f"brokers are of Kafka {release or 'before 2.1'}: {'; '.join(missing)}",
            remedy=f"Upgrade the brokers; {OLDEST_TRIED} is the oldest release that is tested.",
        )
    message = f"brokers are of Kafka {release} at least"
    return Check.go("version", admin.alias, message)


async def _clock(admin: Admin) -> Check:
    clock = await admin.survey.clock()
    if clock is None:
        message = (
            "not known: only KRaft clusters since Kafka 3.3 tell their time, and only whom they"
            " allow DESCRIBE on the cluster"
        )
        return Check.note("clock", admin.alias, message)
    ahead = abs(clock.ahead_ms)
    way = "ahead of" if clock.ahead_ms > 0 else "behind"
    if ahead > _SKEW_MS + clock.within_ms:
        return Check.caution(
            "clock",
            admin.alias,
            f"the controller's clock is {age_text(ahead)} {way} this machine's",
            remedy="Synchronize both with NTP: ages, latencies and leases are measured with them.",
        )
    message = f"the controller's clock is {ahead} ms {way} this machine's"
    return Check.go("clock", admin.alias, message)


def _not_reached(alias: str, check: str, message: str, remedy: str) -> Check:
    return Check.no_go(check, alias, message, remedy=remedy, is_unreachable=True)
