"""The keys of TLS: Java's ``SslConfigs``."""

from __future__ import annotations

from typing import Final

from mm2.config.keys.definition import Type, harmless, items, refused
from mm2.config.keys.keys_connection import client_key

_JVM: Final = "it belongs to the JVM; TLS is OpenSSL's here"

TLS_KEYS: Final = (
    client_key(
        "ssl.cipher.suites",
        Type.LIST,
        "",
        "LOW",
        "Cipher suites to offer, in Java's names; empty offers all that OpenSSL has. Of TLSv1.3,"
        " name all suites or none.",
        items(),
    ),
    client_key(
        "ssl.enabled.protocols",
        Type.LIST,
        "TLSv1.2,TLSv1.3",
        "MEDIUM",
        "Versions of TLS that may be used: TLSv1.2 and TLSv1.3.",
        items(),
    ),
    client_key(
        "ssl.endpoint.identification.algorithm",
        Type.STRING,
        "https",
        "LOW",
        "How a broker's host name is checked against its certificate; empty switches the "
        "check off.",
    ),
    refused(
        client_key(
            "ssl.engine.factory.class",
            Type.CLASS,
            None,
            "LOW",
            "Java class that makes TLS engines.",
        ),
        "TLS is OpenSSL's here, and Java classes cannot be loaded. Remove the key",
        "org.apache.kafka.common.security.ssl.DefaultSslEngineFactory",
    ),
    client_key(
        "ssl.key.password",
        Type.PASSWORD,
        None,
        "HIGH",
        "Password of the private key in the key store.",
    ),
    harmless(
        client_key(
            "ssl.keymanager.algorithm",
            Type.STRING,
            "SunX509",
            "LOW",
            "Key manager of the JVM.",
        ),
        _JVM,
    ),
    client_key(
        "ssl.keystore.certificate.chain",
        Type.PASSWORD,
        None,
        "HIGH",
        "Our certificate and those that vouch for it, in PEM, instead of a key store file.",
    ),
    client_key(
        "ssl.keystore.key",
        Type.PASSWORD,
        None,
        "HIGH",
        "Our private key in PEM, instead of a key store file.",
    ),
    client_key(
        "ssl.keystore.location",
        Type.STRING,
        None,
        "HIGH",
        "File with our private key and certificate.",
    ),
    client_key(
        "ssl.keystore.password", Type.PASSWORD, None, "HIGH", "Password of the key store file."
    ),
    client_key(
        "ssl.keystore.type",
        Type.STRING,
        "JKS",
        "MEDIUM",
        "Format of the key store: JKS, PKCS12 or PEM.",
    ),
    client_key(
        "ssl.protocol",
        Type.STRING,
        "TLSv1.3",
        "MEDIUM",
        "Highest version of TLS: TLSv1.2, TLSv1.3, or TLS for what there is.",
    ),
    harmless(
        client_key("ssl.provider", Type.STRING, None, "MEDIUM", "Security provider of the JVM."),
        _JVM,
    ),
    harmless(
        client_key(
            "ssl.secure.random.implementation",
            Type.STRING,
            None,
            "LOW",
            "Random numbers of the JVM.",
        ),
        _JVM,
    ),
    harmless(
        client_key(
            "ssl.trustmanager.algorithm",
            Type.STRING,
            "PKIX",
            "LOW",
            "Trust manager of the JVM.",
        ),
        _JVM,
    ),
    client_key(
        "ssl.truststore.certificates",
        Type.PASSWORD,
        None,
        "HIGH",
        "Certificates to trust, in PEM, instead of a trust store file.",
    ),
    client_key(
        "ssl.truststore.location", Type.STRING, None, "HIGH", "File with the certificates to trust."
    ),
    client_key(
        "ssl.truststore.password", Type.PASSWORD, None, "HIGH", "Password of the trust store file."
    ),
    client_key(
        "ssl.truststore.type",
        Type.STRING,
        "JKS",
        "MEDIUM",
        "Format of the trust store: JKS, PKCS12 or PEM.",
    ),
)
