"""
The keys by which a client connects and proves who it is: Java's ``CLIENT_CONFIG_DEF``.

They are the ones that a cluster hands down to its producer, consumer and admin (C022, C023).
"""

from __future__ import annotations

from typing import Final

from mm2.config.definition import (
    Check,
    Definition,
    Key,
    Type,
    between,
    items,
    one_of_any_case,
)

_SECURITY: Final = frozenset(
    {
        Definition.MAKER,
        Definition.SOURCE,
        Definition.CHECKPOINT,
        Definition.HEARTBEAT,
        Definition.CLIENT,
        Definition.WORKER,
    }
)
_OAUTH: Final = "sasl.oauthbearer."


def _key(  # noqa: PLR0917 - a row of a table
    name: str,
    type_: Type,
    default: str | None,
    importance: str,
    doc: str,
    check: Check | None = None,
) -> Key:
    return Key(
        name=name,
        type=type_,
        default=default,
        importance=importance,
        doc=doc,
        definitions=_SECURITY,
        check=check,
    )


def _oauth(  # noqa: PLR0917 - a row of a table
    name: str,
    type_: Type,
    default: str | None,
    importance: str,
    doc: str,
    check: Check | None = None,
) -> Key:
    return _key(_OAUTH + name, type_, default, importance, doc, check)


_CONNECTION: Final = (
    Key(
        name="bootstrap.servers",
        type=Type.LIST,
        default=None,
        importance="HIGH",
        doc=(
            "Brokers to ask first, as host:port, separated by commas. Given per cluster: "
            "A.bootstrap.servers."
        ),
        definitions=frozenset({Definition.CLIENT, Definition.WORKER}),
        required=True,
        check=items(empty_allowed=False),
    ),
    _key(
        "security.protocol",
        Type.STRING,
        "PLAINTEXT",
        "MEDIUM",
        "How to talk to the brokers: with or without TLS, with or without SASL. Any case.",
        one_of_any_case("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"),
    ),
)

_TLS: Final = (
    _key(
        "ssl.cipher.suites",
        Type.LIST,
        "",
        "LOW",
        "Cipher suites to offer; empty offers all that there are.",
        items(),
    ),
    _key(
        "ssl.enabled.protocols",
        Type.LIST,
        "TLSv1.2,TLSv1.3",
        "MEDIUM",
        "Versions of TLS that may be used.",
        items(),
    ),
    _key(
        "ssl.endpoint.identification.algorithm",
        Type.STRING,
        "https",
        "LOW",
        "How a broker's host name is checked against its certificate; empty switches the "
        "check off.",
    ),
    _key(
        "ssl.engine.factory.class",
        Type.CLASS,
        None,
        "LOW",
        "Java class that makes TLS engines; Java only.",
    ),
    _key(
        "ssl.key.password",
        Type.PASSWORD,
        None,
        "HIGH",
        "Password of the private key in the key store.",
    ),
    _key(
        "ssl.keymanager.algorithm",
        Type.STRING,
        "SunX509",
        "LOW",
        "Key manager of the JVM; Java only.",
    ),
    _key(
        "ssl.keystore.certificate.chain",
        Type.PASSWORD,
        None,
        "HIGH",
        "Our certificate and those that vouch for it, in PEM, instead of a key store file.",
    ),
    _key(
        "ssl.keystore.key",
        Type.PASSWORD,
        None,
        "HIGH",
        "Our private key in PEM, instead of a key store file.",
    ),
    _key(
        "ssl.keystore.location",
        Type.STRING,
        None,
        "HIGH",
        "File with our private key and certificate.",
    ),
    _key("ssl.keystore.password", Type.PASSWORD, None, "HIGH", "Password of the key store file."),
    _key(
        "ssl.keystore.type",
        Type.STRING,
        "JKS",
        "MEDIUM",
        "Format of the key store: JKS, PKCS12 or PEM.",
    ),
    _key("ssl.protocol", Type.STRING, "TLSv1.3", "MEDIUM", "Version of TLS to begin with."),
    _key("ssl.provider", Type.STRING, None, "MEDIUM", "Security provider of the JVM; Java only."),
    _key(
        "ssl.secure.random.implementation",
        Type.STRING,
        None,
        "LOW",
        "Random numbers of the JVM; Java only.",
    ),
    _key(
        "ssl.trustmanager.algorithm",
        Type.STRING,
        "PKIX",
        "LOW",
        "Trust manager of the JVM; Java only.",
    ),
    _key(
        "ssl.truststore.certificates",
        Type.PASSWORD,
        None,
        "HIGH",
        "Certificates to trust, in PEM, instead of a trust store file.",
    ),
    _key(
        "ssl.truststore.location", Type.STRING, None, "HIGH", "File with the certificates to trust."
    ),
    _key(
        "ssl.truststore.password", Type.PASSWORD, None, "HIGH", "Password of the trust store file."
    ),
    _key(
        "ssl.truststore.type",
        Type.STRING,
        "JKS",
        "MEDIUM",
        "Format of the trust store: JKS, PKCS12 or PEM.",
    ),
)

_SASL: Final = (
    _key(
        "sasl.mechanism",
        Type.STRING,
        "GSSAPI",
        "MEDIUM",
        "How to authenticate: PLAIN, SCRAM-SHA-256, ...",
    ),
    _key(
        "sasl.jaas.config",
        Type.PASSWORD,
        None,
        "MEDIUM",
        "Login module with user name and password, in the syntax of JAAS.",
    ),
    _key(
        "sasl.client.callback.handler.class",
        Type.CLASS,
        None,
        "MEDIUM",
        "Java class that answers challenges; Java only.",
    ),
    _key(
        "sasl.login.callback.handler.class",
        Type.CLASS,
        None,
        "MEDIUM",
        "Java class that logs in; Java only.",
    ),
    _key("sasl.login.class", Type.CLASS, None, "MEDIUM", "Java class of the login; Java only."),
    _key("sasl.kerberos.kinit.cmd", Type.STRING, "/usr/bin/kinit", "LOW", "Path of kinit."),
    _key(
        "sasl.kerberos.min.time.before.relogin",
        Type.LONG,
        "60000",
        "LOW",
        "Least time between two attempts to renew a ticket, in ms.",
    ),
    _key(
        "sasl.kerberos.service.name",
        Type.STRING,
        None,
        "MEDIUM",
        "Kerberos principal under which brokers run.",
    ),
    _key(
        "sasl.kerberos.ticket.renew.jitter",
        Type.DOUBLE,
        "0.05",
        "LOW",
        "Share of randomness in the time of renewal.",
    ),
    _key(
        "sasl.kerberos.ticket.renew.window.factor",
        Type.DOUBLE,
        "0.8",
        "LOW",
        "Share of a ticket's life after which it is renewed.",
    ),
    _key(
        "sasl.login.connect.timeout.ms",
        Type.INT,
        None,
        "LOW",
        "Time to connect to the login server, in ms.",
    ),
    _key(
        "sasl.login.read.timeout.ms",
        Type.INT,
        None,
        "LOW",
        "Time to wait for the login server's answer, in ms.",
    ),
    _key(
        "sasl.login.refresh.buffer.seconds",
        Type.SHORT,
        "300",
        "LOW",
        "Time before a credential's end by which it must be renewed, in s.",
        between(0, 3600),
    ),
    _key(
        "sasl.login.refresh.min.period.seconds",
        Type.SHORT,
        "60",
        "LOW",
        "Least age of a credential before it is renewed, in s.",
        between(0, 900),
    ),
    _key(
        "sasl.login.refresh.window.factor",
        Type.DOUBLE,
        "0.8",
        "LOW",
        "Share of a credential's life after which it is renewed.",
        between(0.5, 1.0),
    ),
    _key(
        "sasl.login.refresh.window.jitter",
        Type.DOUBLE,
        "0.05",
        "LOW",
        "Share of randomness in the time of renewal.",
        between(0.0, 0.25),
    ),
    _key(
        "sasl.login.retry.backoff.max.ms",
        Type.LONG,
        "10000",
        "LOW",
        "Longest pause between two logins, in ms.",
    ),
    _key(
        "sasl.login.retry.backoff.ms",
        Type.LONG,
        "100",
        "LOW",
        "First pause between two logins, in ms.",
    ),
)

_OAUTHBEARER: Final = (
    _oauth(
        "assertion.algorithm",
        Type.STRING,
        "RS256",
        "MEDIUM",
        "Signature of the assertion. Any case.",
        one_of_any_case("ES256", "RS256"),
    ),
    _oauth(
        "assertion.claim.aud", Type.STRING, None, "MEDIUM", "Audience that the assertion claims."
    ),
    _oauth(
        "assertion.claim.exp.seconds",
        Type.INT,
        "300",
        "LOW",
        "Life of the assertion, in s.",
        between(0, 86400),
    ),
    _oauth("assertion.claim.iss", Type.STRING, None, "MEDIUM", "Issuer that the assertion claims."),
    _oauth(
        "assertion.claim.jti.include",
        Type.BOOLEAN,
        "false",
        "MEDIUM",
        "Whether the assertion carries an id of its own.",
    ),
    _oauth(
        "assertion.claim.nbf.seconds",
        Type.INT,
        "60",
        "LOW",
        "How far in the past the assertion begins to be valid, in s.",
        between(0, 3600),
    ),
    _oauth(
        "assertion.claim.sub", Type.STRING, None, "MEDIUM", "Subject that the assertion claims."
    ),
    _oauth("assertion.file", Type.STRING, None, "MEDIUM", "File with an assertion made elsewhere."),
    _oauth(
        "assertion.private.key.file",
        Type.STRING,
        None,
        "MEDIUM",
        "File with the key that signs assertions.",
    ),
    _oauth(
        "assertion.private.key.passphrase", Type.PASSWORD, None, "MEDIUM", "Passphrase of that key."
    ),
    _oauth(
        "assertion.template.file", Type.STRING, None, "MEDIUM", "File with further claims, in JSON."
    ),
    _oauth(
        "client.credentials.client.id", Type.STRING, None, "MEDIUM", "Client id to get tokens with."
    ),
    _oauth(
        "client.credentials.client.secret",
        Type.PASSWORD,
        None,
        "MEDIUM",
        "Secret that goes with the client id.",
    ),
    _oauth("clock.skew.seconds", Type.INT, "30", "LOW", "How far clocks may be apart, in s."),
    _oauth(
        "expected.audience",
        Type.LIST,
        "",
        "LOW",
        "Audiences of which a token must name one.",
        items(),
    ),
    _oauth("expected.issuer", Type.STRING, None, "LOW", "Issuer that a token must name."),
    _oauth(
        "header.urlencode",
        Type.BOOLEAN,
        "false",
        "LOW",
        "Whether client id and secret are URL-encoded in the header.",
    ),
    _oauth(
        "jwks.endpoint.refresh.ms",
        Type.LONG,
        "3600000",
        "LOW",
        "How often the issuer's keys are read, in ms.",
    ),
    _oauth(
        "jwks.endpoint.retry.backoff.max.ms",
        Type.LONG,
        "10000",
        "LOW",
        "Longest pause between two attempts, in ms.",
    ),
    _oauth(
        "jwks.endpoint.retry.backoff.ms",
        Type.LONG,
        "100",
        "LOW",
        "First pause between two attempts, in ms.",
    ),
    _oauth("jwks.endpoint.url", Type.STRING, None, "MEDIUM", "Where the issuer's keys are."),
    _oauth(
        "jwt.retriever.class",
        Type.CLASS,
        "org.apache.kafka.common.security.oauthbearer.DefaultJwtRetriever",
        "MEDIUM",
        "Java class that gets tokens; Java only.",
    ),
    _oauth(
        "jwt.validator.class",
        Type.CLASS,
        "org.apache.kafka.common.security.oauthbearer.DefaultJwtValidator",
        "MEDIUM",
        "Java class that checks tokens; Java only.",
    ),
    _oauth("scope", Type.STRING, None, "MEDIUM", "Scope to ask for."),
    _oauth(
        "scope.claim.name", Type.STRING, "scope", "LOW", "Name of the claim that holds the scope."
    ),
    _oauth(
        "sub.claim.name", Type.STRING, "sub", "LOW", "Name of the claim that holds the subject."
    ),
    _oauth("token.endpoint.url", Type.STRING, None, "MEDIUM", "Where tokens are given out."),
)

SECURITY_KEYS: Final = (*_CONNECTION, *_TLS, *_SASL, *_OAUTHBEARER)
CLIENT_NAMES: Final = frozenset(key.name for key in SECURITY_KEYS)
"""The names that a cluster hands down to its clients: 66 in 4.3."""
