"""
The keys by which a client connects and proves who it is: Java's ``CLIENT_CONFIG_DEF``.

They are the ones that a cluster hands down to its producer, consumer and admin (C022, C023).
"""

from __future__ import annotations

from functools import partial
from typing import Final

from mm2.config.keys.definition import Definition, Key
from mm2.config.keys.key_types import Type
from mm2.config.keys.value_checks import between, items, one_of_any_case

_JVM: Final = "it belongs to the JVM; TLS is OpenSSL's here"
_SECURITY: Final = "org.apache.kafka.common.security."
_JAVA_LOGIN: Final = (
    "mm2 logs in by itself, and cannot load Java classes. Remove the key; PLAIN and SCRAM need"
    " sasl.jaas.config alone"
)
_GSSAPI: Final = "it belongs to GSSAPI, which is refused"
_OAUTHBEARER: Final = "it belongs to OAUTHBEARER, which is refused"

_client: Final = partial(
    Key,
    definitions=frozenset(
        {
            Definition.MAKER,
            Definition.SOURCE,
            Definition.CHECKPOINT,
            Definition.HEARTBEAT,
            Definition.CLIENT,
            Definition.WORKER,
        }
    ),
)
_oauth: Final = partial(_client, ignored="OAUTHBEARER is refused")

# fmt: off
_CONNECTION: Final = (
    Key("bootstrap.servers", Type.LIST, None,
        "Brokers to ask first, as host:port, separated by commas. Given per cluster:"
        " A.bootstrap.servers.", importance="HIGH",
        definitions=frozenset({Definition.CLIENT, Definition.WORKER}), required=True,
        check=items(empty_allowed=False)),
    _client("security.protocol", Type.STRING, "PLAINTEXT",
        "How to talk to the brokers: with or without TLS, with or without SASL. Any case.",
        importance="MEDIUM",
        check=one_of_any_case("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")),
)

_TLS: Final = (
    _client("ssl.cipher.suites", Type.LIST, "",
        "Cipher suites to offer, in Java's names; empty offers all that OpenSSL has. Of TLSv1.3,"
        " name all suites or none.", check=items()),
    _client("ssl.enabled.protocols", Type.LIST, "TLSv1.2,TLSv1.3",
        "Versions of TLS that may be used: TLSv1.2 and TLSv1.3.", importance="MEDIUM",
        check=items()),
    _client("ssl.endpoint.identification.algorithm", Type.STRING, "https",
        "How a broker's host name is checked against its certificate; empty switches the check"
        " off."),
    _client("ssl.engine.factory.class", Type.CLASS, None, "Java class that makes TLS engines.",
        refused="TLS is OpenSSL's here, and Java classes cannot be loaded. Remove the key",
        accepted=("org.apache.kafka.common.security.ssl.DefaultSslEngineFactory",)),
    _client("ssl.key.password", Type.PASSWORD, None,
        "Password of the private key in the key store.", importance="HIGH"),
    _client("ssl.keymanager.algorithm", Type.STRING, "SunX509", "Key manager of the JVM.",
        ignored=_JVM),
    _client("ssl.keystore.certificate.chain", Type.PASSWORD, None,
        "Our certificate and those that vouch for it, in PEM, instead of a key store file.",
        importance="HIGH"),
    _client("ssl.keystore.key", Type.PASSWORD, None,
        "Our private key in PEM, instead of a key store file.", importance="HIGH"),
    _client("ssl.keystore.location", Type.STRING, None,
        "File with our private key and certificate.", importance="HIGH"),
    _client("ssl.keystore.password", Type.PASSWORD, None, "Password of the key store file.",
        importance="HIGH"),
    _client("ssl.keystore.type", Type.STRING, "JKS",
        "Format of the key store: JKS, PKCS12 or PEM.", importance="MEDIUM"),
    _client("ssl.protocol", Type.STRING, "TLSv1.3",
        "Highest version of TLS: TLSv1.2, TLSv1.3, or TLS for what there is.",
        importance="MEDIUM"),
    _client("ssl.provider", Type.STRING, None, "Security provider of the JVM.",
        importance="MEDIUM", ignored=_JVM),
    _client("ssl.secure.random.implementation", Type.STRING, None, "Random numbers of the JVM.",
        ignored=_JVM),
    _client("ssl.trustmanager.algorithm", Type.STRING, "PKIX", "Trust manager of the JVM.",
        ignored=_JVM),
    _client("ssl.truststore.certificates", Type.PASSWORD, None,
        "Certificates to trust, in PEM, instead of a trust store file.", importance="HIGH"),
    _client("ssl.truststore.location", Type.STRING, None, "File with the certificates to trust.",
        importance="HIGH"),
    _client("ssl.truststore.password", Type.PASSWORD, None, "Password of the trust store file.",
        importance="HIGH"),
    _client("ssl.truststore.type", Type.STRING, "JKS",
        "Format of the trust store: JKS, PKCS12 or PEM.", importance="MEDIUM"),
)

_SASL: Final = (
    _client("sasl.mechanism", Type.STRING, "GSSAPI",
        "How to authenticate: PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512. GSSAPI and OAUTHBEARER are"
        " refused.", importance="MEDIUM"),
    _client("sasl.jaas.config", Type.PASSWORD, None,
        "Login module with user name and password, in the syntax of JAAS.", importance="MEDIUM"),
    _client("sasl.client.callback.handler.class", Type.CLASS, None,
        "Java class that answers challenges.", importance="MEDIUM", refused=_JAVA_LOGIN,
        accepted=(f"{_SECURITY}authenticator.SaslClientCallbackHandler",)),
    _client("sasl.login.callback.handler.class", Type.CLASS, None, "Java class that logs in.",
        importance="MEDIUM", refused=_JAVA_LOGIN,
        accepted=(f"{_SECURITY}authenticator.AbstractLogin$DefaultLoginCallbackHandler",)),
    _client("sasl.login.class", Type.CLASS, None, "Java class of the login.", importance="MEDIUM",
        refused=_JAVA_LOGIN, accepted=(f"{_SECURITY}authenticator.DefaultLogin",)),
    _client("sasl.kerberos.kinit.cmd", Type.STRING, "/usr/bin/kinit", "Path of kinit.",
        ignored=_GSSAPI),
    _client("sasl.kerberos.min.time.before.relogin", Type.LONG, "60000",
        "Least time between two attempts to renew a ticket, in ms.", ignored=_GSSAPI),
    _client("sasl.kerberos.service.name", Type.STRING, None,
        "Kerberos principal under which brokers run.", importance="MEDIUM", ignored=_GSSAPI),
    _client("sasl.kerberos.ticket.renew.jitter", Type.DOUBLE, "0.05",
        "Share of randomness in the time of renewal.", ignored=_GSSAPI),
    _client("sasl.kerberos.ticket.renew.window.factor", Type.DOUBLE, "0.8",
        "Share of a ticket's life after which it is renewed.", ignored=_GSSAPI),
    _client("sasl.login.connect.timeout.ms", Type.INT, None,
        "Time to connect to the login server, in ms.", ignored=_OAUTHBEARER),
    _client("sasl.login.read.timeout.ms", Type.INT, None,
        "Time to wait for the login server's answer, in ms.", ignored=_OAUTHBEARER),
    _client("sasl.login.refresh.buffer.seconds", Type.SHORT, "300",
        "Time before a credential's end by which it must be renewed, in s.",
        check=between(0, 3600), ignored=_OAUTHBEARER),
    _client("sasl.login.refresh.min.period.seconds", Type.SHORT, "60",
        "Least age of a credential before it is renewed, in s.", check=between(0, 900),
        ignored=_OAUTHBEARER),
    _client("sasl.login.refresh.window.factor", Type.DOUBLE, "0.8",
        "Share of a credential's life after which it is renewed.", check=between(0.5, 1.0),
        ignored=_OAUTHBEARER),
    _client("sasl.login.refresh.window.jitter", Type.DOUBLE, "0.05",
        "Share of randomness in the time of renewal.", check=between(0.0, 0.25),
        ignored=_OAUTHBEARER),
    _client("sasl.login.retry.backoff.max.ms", Type.LONG, "10000",
        "Longest pause between two logins, in ms.", ignored=_OAUTHBEARER),
    _client("sasl.login.retry.backoff.ms", Type.LONG, "100",
        "First pause between two logins, in ms.", ignored=_OAUTHBEARER),
)

_OAUTH: Final = (
    _oauth("sasl.oauthbearer.assertion.algorithm", Type.STRING, "RS256",
        "Signature of the assertion. Any case.", importance="MEDIUM",
        check=one_of_any_case("ES256", "RS256")),
    _oauth("sasl.oauthbearer.assertion.claim.aud", Type.STRING, None,
        "Audience that the assertion claims.", importance="MEDIUM"),
    _oauth("sasl.oauthbearer.assertion.claim.exp.seconds", Type.INT, "300",
        "Life of the assertion, in s.", check=between(0, 86400)),
    _oauth("sasl.oauthbearer.assertion.claim.iss", Type.STRING, None,
        "Issuer that the assertion claims.", importance="MEDIUM"),
    _oauth("sasl.oauthbearer.assertion.claim.jti.include", Type.BOOLEAN, "false",
        "Whether the assertion carries an id of its own.", importance="MEDIUM"),
    _oauth("sasl.oauthbearer.assertion.claim.nbf.seconds", Type.INT, "60",
        "How far in the past the assertion begins to be valid, in s.", check=between(0, 3600)),
    _oauth("sasl.oauthbearer.assertion.claim.sub", Type.STRING, None,
        "Subject that the assertion claims.", importance="MEDIUM"),
    _oauth("sasl.oauthbearer.assertion.file", Type.STRING, None,
        "File with an assertion made elsewhere.", importance="MEDIUM"),
    _oauth("sasl.oauthbearer.assertion.private.key.file", Type.STRING, None,
        "File with the key that signs assertions.", importance="MEDIUM"),
    _oauth("sasl.oauthbearer.assertion.private.key.passphrase", Type.PASSWORD, None,
        "Passphrase of that key.", importance="MEDIUM"),
    _oauth("sasl.oauthbearer.assertion.template.file", Type.STRING, None,
        "File with further claims, in JSON.", importance="MEDIUM"),
    _oauth("sasl.oauthbearer.client.credentials.client.id", Type.STRING, None,
        "Client id to get tokens with.", importance="MEDIUM"),
    _oauth("sasl.oauthbearer.client.credentials.client.secret", Type.PASSWORD, None,
        "Secret that goes with the client id.", importance="MEDIUM"),
    _oauth("sasl.oauthbearer.clock.skew.seconds", Type.INT, "30",
        "How far clocks may be apart, in s."),
    _oauth("sasl.oauthbearer.expected.audience", Type.LIST, "",
        "Audiences of which a token must name one.", check=items()),
    _oauth("sasl.oauthbearer.expected.issuer", Type.STRING, None,
        "Issuer that a token must name."),
    _oauth("sasl.oauthbearer.header.urlencode", Type.BOOLEAN, "false",
        "Whether client id and secret are URL-encoded in the header."),
    _oauth("sasl.oauthbearer.jwks.endpoint.refresh.ms", Type.LONG, "3600000",
        "How often the issuer's keys are read, in ms."),
    _oauth("sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms", Type.LONG, "10000",
        "Longest pause between two attempts, in ms."),
    _oauth("sasl.oauthbearer.jwks.endpoint.retry.backoff.ms", Type.LONG, "100",
        "First pause between two attempts, in ms."),
    _oauth("sasl.oauthbearer.jwks.endpoint.url", Type.STRING, None, "Where the issuer's keys are.",
        importance="MEDIUM"),
    _oauth("sasl.oauthbearer.jwt.retriever.class", Type.CLASS,
        "org.apache.kafka.common.security.oauthbearer.DefaultJwtRetriever",
        "Java class that gets tokens.", importance="MEDIUM"),
    _oauth("sasl.oauthbearer.jwt.validator.class", Type.CLASS,
        "org.apache.kafka.common.security.oauthbearer.DefaultJwtValidator",
        "Java class that checks tokens.", importance="MEDIUM"),
    _oauth("sasl.oauthbearer.scope", Type.STRING, None, "Scope to ask for.", importance="MEDIUM"),
    _oauth("sasl.oauthbearer.scope.claim.name", Type.STRING, "scope",
        "Name of the claim that holds the scope."),
    _oauth("sasl.oauthbearer.sub.claim.name", Type.STRING, "sub",
        "Name of the claim that holds the subject."),
    _oauth("sasl.oauthbearer.token.endpoint.url", Type.STRING, None, "Where tokens are given out.",
        importance="MEDIUM"),
)
"""Known, so that files of Java's are read; logging in that way is refused."""
# fmt: on

SECURITY_KEYS: Final = (*_CONNECTION, *_TLS, *_SASL, *_OAUTH)
CLIENT_NAMES: Final = frozenset(key.name for key in SECURITY_KEYS)
"""The names that a cluster hands down to its clients: 66 in 4.3."""
