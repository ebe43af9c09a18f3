"""Files on the command line of a standalone worker, taken together."""

from __future__ import annotations

from pathlib import Path

import pytest

from mm2.driver.connect_start import FileErrors, run_standalone


def test_two_files_do_not_name_the_same_connector(tmp_path: Path) -> None:
    worker, first, second = (tmp_path / name for name in ("worker", "first", "second"))
    worker.write_text("bootstrap.servers = 127.0.0.1:1\n")
    for path in (first, second):
        path.write_text(
            "source.cluster.alias = A\ntarget.cluster.alias = B\nname = m\n"
            "connector.class = MirrorSource\nsource.cluster.bootstrap.servers = 127.0.0.1:2\n"
        )
    with pytest.raises(FileErrors) as raised:
        run_standalone(worker, [first, second])
    (told,) = raised.value.lines
    assert told == (
        f"{second}: line 3: name = m is the connector in {first} already: give it another name"
    )
