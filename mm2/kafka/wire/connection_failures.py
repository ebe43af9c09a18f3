"""
Why a broker and we do not get along: what a failed connection means, and the key to set.

What is certain is a ``NotLetIn``; what a connection that was just closed probably means is said,
but a broker that is stopping closes connections, too.
"""

from __future__ import annotations

import ssl
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from aiokafka import errors

_OTHER_HOST: Final = frozenset({62, 64})
"""OpenSSL's codes of a certificate for another name or address than the one connected to."""

_EXPIRED: Final = 10
_NO_CERTIFICATE: Final = ("CERTIFICATE_REQUIRED", "BAD_CERTIFICATE", "HANDSHAKE_FAILURE")
_BAD_CERTIFICATE: Final = ("UNKNOWN_CA", "CERTIFICATE_UNKNOWN", "CERTIFICATE_EXPIRED")
_WITHOUT_TLS: Final = {"SSL": "PLAINTEXT", "SASL_SSL": "SASL_PLAINTEXT"}
_WITH_TLS: Final = {"PLAINTEXT": "SSL", "SASL_PLAINTEXT": "SASL_SSL"}


class NotLetIn(errors.AuthenticationFailedError):
    """The broker does not let us in, or is not whom we trust; the message names the key to set."""

    def __str__(self) -> str:
        return str(self.args[0])


@dataclass(frozen=True, slots=True)
class Attempt:
    """An attempt to connect to a broker."""

    address: str
    protocol: str
    mechanism: str

    def explained(self, error: Exception, *, has_handshake: bool) -> Exception:
        """
        The error to raise for one that came up while connecting.

        Args:
            has_handshake: whether the connection was there, and so TLS, if any, agreed on.
        """
        if text := self._refusal(error):
            refusal: Exception = NotLetIn(text)
            return refusal
        if hint := self._hint(error, has_handshake=has_handshake):
            return self._closed(hint)
        return error

    def unanswered(self, error: Exception) -> Exception:
        """The error to raise if the first request after connecting has failed."""
        if "SASL" in self.protocol or not isinstance(error, errors.KafkaConnectionError):
            return error
        hint = (
            f"probably it asks for a log-in: set security.protocol to SASL_{self.protocol},"
            " sasl.mechanism and sasl.jaas.config"
        )
        return self._closed(hint)

    def _closed(self, hint: str) -> Exception:
        closed: Exception = errors.KafkaConnectionError(
            f"{self.address} closed the connection: {hint}"
        )
        return closed

    def _refusal(self, error: Exception) -> str | None:
        words = " ".join(map(str, error.args))
        match error:
            case errors.SaslAuthenticationFailed():
                return (
                    f"{self.address} refuses the user name or the password: correct"
                    f" sasl.jaas.config, or sasl.mechanism={self.mechanism} ({words})"
                )
            case errors.UnsupportedSaslMechanismError():
                return (
                    f"{self.address} does not offer sasl.mechanism={self.mechanism}: set one that"
                    f" the listener has ({words})"
                )
            case errors.IllegalSaslStateError():
                return (
                    f"{self.address} asks for no log-in: set security.protocol to"
                    f" {self.protocol.removeprefix('SASL_')}"
                )
            case _:
                found = next(
                    (each for each in _chain(error) if isinstance(each, ssl.SSLError)), None
                )
                return None if found is None else self._of_tls(found)

    def _of_tls(self, error: ssl.SSLError) -> str | None:
        if isinstance(error, ssl.SSLCertVerificationError):
            return self._of_certificate(error)
        reason = error.reason or str(error)
        if any(each in reason for each in _NO_CERTIFICATE):
            return (
                f"{self.address} asks for a certificate of ours, and has got none that it takes:"
                f" set ssl.keystore.location ({reason})"
            )
        if any(each in reason for each in _BAD_CERTIFICATE):
            return (
                f"{self.address} does not trust our certificate: see ssl.keystore.location, and"
                f" the broker's trust store ({reason})"
            )
        if "PROTOCOL_VERSION" in reason:
            return f"{self.address} has no version of TLS in common: see ssl.enabled.protocols"
        return None

    def _of_certificate(self, error: ssl.SSLCertVerificationError) -> str:
        words = f"the certificate of {self.address}"
        if error.verify_code in _OTHER_HOST:
            return (
                f"{words} is for another host ({error.verify_message}): name the broker as its"
                " certificate does in bootstrap.servers and in its advertised.listeners, or set"
                " ssl.endpoint.identification.algorithm to nothing"
            )
        if error.verify_code == _EXPIRED:
            return f"{words} has expired: renew it on the broker"
        return (
            f"{words} is not trusted ({error.verify_message}): set ssl.truststore.location to a"
            " store with the authority that has signed it"
        )

    def _hint(self, error: Exception, *, has_handshake: bool) -> str | None:
        if isinstance(error, TimeoutError | ConnectionRefusedError) or not _is_closed(error):
            return None
        if self.protocol in _WITH_TLS and has_handshake:
            return (
                "probably the listener wants TLS: set security.protocol to"
                f" {_WITH_TLS[self.protocol]}, and ssl.truststore.location"
            )
        if self.protocol in _WITHOUT_TLS and has_handshake:
            return (
                "probably it asks for a certificate of ours: set ssl.keystore.location,"
                " ssl.keystore.password and ssl.key.password"
            )
        if self.protocol in _WITHOUT_TLS:
            return (
                "probably the listener has no TLS: set security.protocol to"
                f" {_WITHOUT_TLS[self.protocol]}, or name its TLS port in bootstrap.servers"
            )
        return None


def _is_closed(error: Exception) -> bool:
    return isinstance(error, errors.KafkaConnectionError | ConnectionError | ssl.SSLError)


def _chain(error: BaseException) -> Iterator[BaseException]:
    found: BaseException | None = error
    while found is not None:
        yield found
        found = found.__cause__
