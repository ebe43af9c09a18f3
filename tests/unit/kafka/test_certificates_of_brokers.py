"""What is said of a broker whose certificate is not as it should be."""

from __future__ import annotations

import asyncio
import ssl
from pathlib import Path

import pytest

from mm2.errors import AuthenticationFailed
from mm2.kafka.admin import Admin
from tests.support.certificates import PASSWORD, Certified


@pytest.mark.parametrize(
    ("hosts", "days", "is_trusted", "says"),
    [
        (["other.example"], 1, True, "is for another host .*bootstrap.servers.*ssl.endpoint.ident"),
        (["localhost"], -1, True, "has expired: renew it on the broker"),
        (["localhost"], 1, False, "is not trusted .*: set ssl.truststore.location"),
    ],
    ids=["other-host", "expired", "untrusted"],
)
async def test_the_error_names_the_cause_and_the_key_to_set(
    tmp_path: Path, hosts: list[str], days: int, says: str, *, is_trusted: bool
) -> None:
    authority = Certified.authority("authority")
    trusted = authority if is_trusted else Certified.authority("stranger")
    context = _served(authority.issue("broker", hosts=hosts, days=days), tmp_path)
    server = await asyncio.start_server(_nothing, "127.0.0.1", 0, ssl=context)
    port = server.sockets[0].getsockname()[1]
    properties = {
        "bootstrap.servers": f"127.0.0.1:{port}",
        "security.protocol": "SSL",
        "ssl.truststore.location": str(trusted.truststore(tmp_path / "trust.p12")),
        "ssl.truststore.password": PASSWORD,
    }
    admin = Admin("S", properties)
    try:
        with pytest.raises(AuthenticationFailed, match=f"certificate of 127.0.0.1:{port} {says}"):
            await admin.cluster_id(within_s=30)
    finally:
        await admin.close()
        server.close()


def _served(broker: Certified, folder: Path) -> ssl.SSLContext:
    chain, key = folder / "chain.pem", folder / "key.pem"
    chain.write_text(broker.certificate_pem)
    key.write_text(broker.key_pem())
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(chain, key)
    return context


async def _nothing(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.close()
