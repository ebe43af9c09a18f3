"""The keys of SASL but for those of OAUTHBEARER: Java's ``SaslConfigs``."""

from __future__ import annotations

from typing import Final

from mm2.config.keys.definition import Type, between, harmless, refused
from mm2.config.keys.keys_connection import client_key

_SECURITY: Final = "org.apache.kafka.common.security."
_JAVA_LOGIN: Final = (
    "mm2 logs in by itself, and cannot load Java classes. Remove the key; PLAIN and SCRAM need"
    " sasl.jaas.config alone"
)
_GSSAPI: Final = "it belongs to GSSAPI, which is refused"
_OAUTHBEARER: Final = "it belongs to OAUTHBEARER, which is refused"

SASL_KEYS: Final = (
    client_key(
        "sasl.mechanism",
        Type.STRING,
        "GSSAPI",
        "MEDIUM",
        "How to authenticate: PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512. GSSAPI and OAUTHBEARER are"
        " refused.",
    ),
    client_key(
        "sasl.jaas.config",
        Type.PASSWORD,
        None,
        "MEDIUM",
        "Login module with user name and password, in the syntax of JAAS.",
    ),
    refused(
        client_key(
            "sasl.client.callback.handler.class",
            Type.CLASS,
            None,
            "MEDIUM",
            "Java class that answers challenges.",
        ),
        _JAVA_LOGIN,
        f"{_SECURITY}authenticator.SaslClientCallbackHandler",
    ),
    refused(
        client_key(
            "sasl.login.callback.handler.class",
            Type.CLASS,
            None,
            "MEDIUM",
            "Java class that logs in.",
        ),
        _JAVA_LOGIN,
        f"{_SECURITY}authenticator.AbstractLogin$DefaultLoginCallbackHandler",
    ),
    refused(
        client_key("sasl.login.class", Type.CLASS, None, "MEDIUM", "Java class of the login."),
        _JAVA_LOGIN,
        f"{_SECURITY}authenticator.DefaultLogin",
    ),
    harmless(
        client_key(
            "sasl.kerberos.kinit.cmd", Type.STRING, "/usr/bin/kinit", "LOW", "Path of kinit."
        ),
        _GSSAPI,
    ),
    harmless(
        client_key(
            "sasl.kerberos.min.time.before.relogin",
            Type.LONG,
            "60000",
            "LOW",
            "Least time between two attempts to renew a ticket, in ms.",
        ),
        _GSSAPI,
    ),
    harmless(
        client_key(
            "sasl.kerberos.service.name",
            Type.STRING,
            None,
            "MEDIUM",
            "Kerberos principal under which brokers run.",
        ),
        _GSSAPI,
    ),
    harmless(
        client_key(
            "sasl.kerberos.ticket.renew.jitter",
            Type.DOUBLE,
            "0.05",
            "LOW",
            "Share of randomness in the time of renewal.",
        ),
        _GSSAPI,
    ),
    harmless(
        client_key(
            "sasl.kerberos.ticket.renew.window.factor",
            Type.DOUBLE,
            "0.8",
            "LOW",
            "Share of a ticket's life after which it is renewed.",
        ),
        _GSSAPI,
    ),
    harmless(
        client_key(
            "sasl.login.connect.timeout.ms",
            Type.INT,
            None,
            "LOW",
            "Time to connect to the login server, in ms.",
        ),
        _OAUTHBEARER,
    ),
    harmless(
        client_key(
            "sasl.login.read.timeout.ms",
            Type.INT,
            None,
            "LOW",
            "Time to wait for the login server's answer, in ms.",
        ),
        _OAUTHBEARER,
    ),
    harmless(
        client_key(
            "sasl.login.refresh.buffer.seconds",
            Type.SHORT,
            "300",
            "LOW",
            "Time before a credential's end by which it must be renewed, in s.",
            between(0, 3600),
        ),
        _OAUTHBEARER,
    ),
    harmless(
        client_key(
            "sasl.login.refresh.min.period.seconds",
            Type.SHORT,
            "60",
            "LOW",
            "Least age of a credential before it is renewed, in s.",
            between(0, 900),
        ),
        _OAUTHBEARER,
    ),
    harmless(
        client_key(
            "sasl.login.refresh.window.factor",
            Type.DOUBLE,
            "0.8",
            "LOW",
            "Share of a credential's life after which it is renewed.",
            between(0.5, 1.0),
        ),
        _OAUTHBEARER,
    ),
    harmless(
        client_key(
            "sasl.login.refresh.window.jitter",
            Type.DOUBLE,
            "0.05",
            "LOW",
            "Share of randomness in the time of renewal.",
            between(0.0, 0.25),
        ),
        _OAUTHBEARER,
    ),
    harmless(
        client_key(
            "sasl.login.retry.backoff.max.ms",
            Type.LONG,
            "10000",
            "LOW",
            "Longest pause between two logins, in ms.",
        ),
        _OAUTHBEARER,
    ),
    harmless(
        client_key(
            "sasl.login.retry.backoff.ms",
            Type.LONG,
            "100",
            "LOW",
            "First pause between two logins, in ms.",
        ),
        _OAUTHBEARER,
    ),
)
