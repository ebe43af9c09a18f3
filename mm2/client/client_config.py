"""
What ``MirrorClient`` is configured with (Java: ``MirrorClientConfig``).

Java's class passes on nothing but the names of connection and security (C033), although its
documentation shows ``consumer.client.id``. Here the other settings of clients arrive too.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

from mm2.config.clients import with_prefix
from mm2.config.keys.definition import Definition, parse_all
from mm2.config.keys.key_table import CLIENT_NAMES, keys_of
from mm2.config.keys.keys_clients import CLIENT_SETTINGS, ClientKind
from mm2.config.mirror_maker_config import MirrorMakerConfig
from mm2.core.policy import ReplicationPolicy, build_policy
from mm2.errors import ConfigErrors


@dataclass(frozen=True, slots=True)
class ClientConfig:
    """
    The properties of the clients of one cluster.

    Attributes:
        properties: Java's client properties, with ``replication.policy.*``; settings below
            ``admin.``, ``consumer.`` and ``producer.`` are for that kind of client.
    """

    properties: Mapping[str, str]
    alias: str

    @classmethod
    def of(cls, properties: Mapping[str, str], *, alias: str | None = None) -> Self:
        """
        Checks properties as Java's class does (C008, C034, C455).

        Args:
            alias: without one, messages show the addresses.

        Raises:
            ConfigErrors: every mistake in them; ``bootstrap.servers`` must be there.
        """
        mistakes = parse_all(keys_of(Definition.CLIENT), properties)[1]
        if mistakes:
            raise ConfigErrors(mistakes)
        return cls(dict(properties), alias or properties["bootstrap.servers"])

    @classmethod
    def of_cluster(cls, maker: MirrorMakerConfig, alias: str) -> Self:
        """
        The properties of a cluster in a file for mirroring (C026).

        Raises:
            ConfigErrors: every mistake in it.
        """
        return cls(maker.client_config(alias), alias)

    def policy(self) -> ReplicationPolicy:
        """
        Creates the replication policy.

        Raises:
            ConfigError: there is no such class.
        """
        return build_policy(self.properties)

    def client(self, kind: ClientKind) -> dict[str, str]:
        """The properties of one kind of client: the common ones, and its own over them."""
        known = CLIENT_NAMES | CLIENT_SETTINGS[kind]
        common = {key: value for key, value in self.properties.items() if key in known}
        return common | with_prefix(self.properties, f"{kind}.")
