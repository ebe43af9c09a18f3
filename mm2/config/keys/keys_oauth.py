"""
The keys of SASL/OAUTHBEARER, which Java has in ``SaslConfigs``.

They are known, so that files of Java's are read; logging in that way is refused.
"""

from __future__ import annotations

from typing import Final

from mm2.config.keys.definition import Check, Key, Type, between, harmless, items, one_of_any_case
from mm2.config.keys.keys_connection import client_key


def _oauth(  # noqa: PLR0917 - a row of a table
    name: str,
    type_: Type,
    default: str | None,
    importance: str,
    doc: str,
    check: Check | None = None,
) -> Key:
    key = client_key(f"sasl.oauthbearer.{name}", type_, default, importance, doc, check)
    return harmless(key, "OAUTHBEARER is refused")


OAUTH_KEYS: Final = (
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
        "Java class that gets tokens.",
    ),
    _oauth(
        "jwt.validator.class",
        Type.CLASS,
        "org.apache.kafka.common.security.oauthbearer.DefaultJwtValidator",
        "MEDIUM",
        "Java class that checks tokens.",
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
