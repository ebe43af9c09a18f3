"""The demo finds the address of the status page in the mirror's log."""

from __future__ import annotations

from pathlib import Path

from mm2.demo.demo_view import status_page


def test_the_address_of_the_page_is_found_once_the_mirror_listens(tmp_path: Path) -> None:
    log = tmp_path / "mirror.log"
    log.write_text('{"event": "driver.started"}\nSpark says "rest.listening" is no JSON of ours\n')
    assert status_page(log) is None
    with log.open("a") as stream:
        stream.write('{"advertised": "http://127.0.0.1:8083", "event": "rest.listening"}\n')
    assert status_page(log) == "http://127.0.0.1:8083/"
