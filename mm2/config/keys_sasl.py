"""The keys of SASL but for those of OAUTHBEARER: Java's ``SaslConfigs``."""

from __future__ import annotations

from typing import Final

from mm2.config.definition import Type, between
from mm2.config.keys_connection import client_key

SASL_KEYS: Final = (
    client_key(
        "sasl.mechanism",
        Type.STRING,
        "GSSAPI",
        "MEDIUM",
        "How to authenticate: PLAIN, SCRAM-SHA-256, ...",
    ),
    client_key(
        "sasl.jaas.config",
        Type.PASSWORD,
        None,
        "MEDIUM",
        "Login module with user name and password, in the syntax of JAAS.",
    ),
    client_key(
        "sasl.client.callback.handler.class",
        Type.CLASS,
        None,
        "MEDIUM",
        "Java class that answers challenges; Java only.",
    ),
    client_key(
        "sasl.login.callback.handler.class",
        Type.CLASS,
        None,
        "MEDIUM",
        "Java class that logs in; Java only.",
    ),
    client_key(
        "sasl.login.class", Type.CLASS, None, "MEDIUM", "Java class of the login; Java only."
    ),
    client_key("sasl.kerberos.kinit.cmd", Type.STRING, "/usr/bin/kinit", "LOW", "Path of kinit."),
    client_key(
        "sasl.kerberos.min.time.before.relogin",
        Type.LONG,
        "60000",
        "LOW",
        "Least time between two attempts to renew a ticket, in ms.",
    ),
    client_key(
        "sasl.kerberos.service.name",
        Type.STRING,
        None,
        "MEDIUM",
        "Kerberos principal under which brokers run.",
    ),
    client_key(
        "sasl.kerberos.ticket.renew.jitter",
        Type.DOUBLE,
        "0.05",
        "LOW",
        "Share of randomness in the time of renewal.",
    ),
    client_key(
        "sasl.kerberos.ticket.renew.window.factor",
        Type.DOUBLE,
        "0.8",
        "LOW",
        "Share of a ticket's life after which it is renewed.",
    ),
    client_key(
        "sasl.login.connect.timeout.ms",
        Type.INT,
        None,
        "LOW",
        "Time to connect to the login server, in ms.",
    ),
    client_key(
        "sasl.login.read.timeout.ms",
        Type.INT,
        None,
        "LOW",
        "Time to wait for the login server's answer, in ms.",
    ),
    client_key(
        "sasl.login.refresh.buffer.seconds",
        Type.SHORT,
        "300",
        "LOW",
        "Time before a credential's end by which it must be renewed, in s.",
        between(0, 3600),
    ),
    client_key(
        "sasl.login.refresh.min.period.seconds",
        Type.SHORT,
        "60",
        "LOW",
        "Least age of a credential before it is renewed, in s.",
        between(0, 900),
    ),
    client_key(
        "sasl.login.refresh.window.factor",
        Type.DOUBLE,
        "0.8",
        "LOW",
        "Share of a credential's life after which it is renewed.",
        between(0.5, 1.0),
    ),
    client_key(
        "sasl.login.refresh.window.jitter",
        Type.DOUBLE,
        "0.05",
        "LOW",
        "Share of randomness in the time of renewal.",
        between(0.0, 0.25),
    ),
    client_key(
        "sasl.login.retry.backoff.max.ms",
        Type.LONG,
        "10000",
        "LOW",
        "Longest pause between two logins, in ms.",
    ),
    client_key(
        "sasl.login.retry.backoff.ms",
        Type.LONG,
        "100",
        "LOW",
        "First pause between two logins, in ms.",
    ),
)
