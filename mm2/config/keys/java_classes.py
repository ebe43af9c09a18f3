"""The classes of Kafka that keys of type class may name, as Java's class path would hold them."""

from __future__ import annotations

from typing import Final

_SECURITY: Final = "org.apache.kafka.common.security."
_NAMES: Final = """
    auth.AuthenticateCallbackHandler
    auth.Login
    auth.SslEngineFactory
    authenticator.AbstractLogin
    authenticator.DefaultLogin
    authenticator.SaslClientCallbackHandler
    authenticator.SaslServerCallbackHandler
    kerberos.KerberosClientCallbackHandler
    kerberos.KerberosLogin
    plain.internals.PlainServerCallbackHandler
    scram.internals.ScramServerCallbackHandler
    ssl.CommonNameLoggingSslEngineFactory
    ssl.DefaultSslEngineFactory
"""
_OAUTHBEARER_NAMES: Final = """
    BrokerJwtValidator
    ClientCredentialsJwtRetriever
    ClientJwtValidator
    DefaultJwtRetriever
    DefaultJwtValidator
    FileJwtRetriever
    JwtBearerJwtRetriever
    JwtRetriever
    JwtValidator
    OAuthBearerLoginCallbackHandler
    OAuthBearerValidatorCallbackHandler
    internals.OAuthBearerRefreshingLogin
    internals.OAuthBearerSaslClientCallbackHandler
    internals.expiring.ExpiringCredentialRefreshingLogin
    internals.secured.HttpJwtRetriever
    internals.unsecured.OAuthBearerUnsecuredLoginCallbackHandler
    internals.unsecured.OAuthBearerUnsecuredValidatorCallbackHandler
"""

JAVA_CLASSES: Final = frozenset(
    {
        *(_SECURITY + name for name in _NAMES.split()),
        *(f"{_SECURITY}oauthbearer.{name}" for name in _OAUTHBEARER_NAMES.split()),
        "org.apache.kafka.clients.admin.ForwardingAdmin",
    }
)
"""Login, callback handlers, TLS engines, and what gets and checks tokens."""
