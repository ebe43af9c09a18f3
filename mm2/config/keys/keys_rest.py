"""
The keys of the REST interface that Java does not have; those it has are in ``keys_top``.

And what may be asked for there, and in topics, that is not in the file.
"""

from __future__ import annotations

from typing import Final

from mm2.config.keys.definition import Definition, Key
from mm2.config.keys.effects import PROCESS
from mm2.config.keys.key_types import Type

REST_ENABLED: Final = "rest.enabled"
REST_READ_ONLY: Final = "rest.read.only"
REST_PROVIDERS: Final = "rest.config.providers.enabled"
REST_PASSWORDS: Final = "rest.basic.auth.file"
ALLOWED_PREFIXES: Final = "plugin.allowed.prefixes"
TLS_PREFIX: Final = "listeners.https."
"""Begins the TLS keys of the REST interface alone (C363)."""


def _rest(name: str, type_: Type, default: str | None, doc: str) -> Key:
    return Key(
        name,
        type_,
        default,
        f"{doc} Not a key of Kafka's.",
        importance="MEDIUM",
        definitions=frozenset({Definition.OWN, Definition.MAKER}),
        effects=PROCESS,
    )


# fmt: off
REST_KEYS: Final = (
    _rest(REST_ENABLED, Type.BOOLEAN, "true", "Whether this node serves the REST interface."),
    _rest(REST_READ_ONLY, Type.BOOLEAN, None,
        "Whether the REST interface only shows: requests that change anything are answered 403."
        " Default: true for dedicated nodes, unless all who reach a listener have to log in, by"
        " rest.basic.auth.file or https with listeners.https.ssl.client.auth=required; false for"
        " Connect's workers."),
    _rest(REST_PROVIDERS, Type.BOOLEAN, None,
        "Whether configurations that come over REST, or as alterations of a mirror's flow, may"
        " have new expressions of config providers. Unset: not in a mirror's file; in a Connect"
        " worker's file those of the worker's own providers, as in Connect. false: none. true:"
        " all, and in a Connect worker also keys below config.providers, which a mirror never"
        " takes. Expressions that are there already may be sent back unchanged."),
    _rest(REST_PASSWORDS, Type.STRING, "",
        "File with the names and passwords of those who may use the REST interface (HTTP basic"
        " authentication), a line name=password for each, as for Kafka's PropertyFileLoginModule."
        " Empty: everybody who can reach it."),
    _rest(ALLOWED_PREFIXES, Type.LIST, "",
        "Packages, modules or classes in Python (acme.mirror, acme.mirror:Filter) whose classes"
        " may be named over REST, by mm2 flows alter, and by connectors of Connect's workers."
        " Ours always may, and those that the file itself names."),
)
