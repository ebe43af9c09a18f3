"""
``connect-distributed worker.properties``: one worker of a group that shares its connectors.

The drop-in for Kafka's ``connect-distributed.sh``, for MirrorMaker's connectors (KIP-382).
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from mm2.cli.connect_worker import main_of


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Runs the worker and ends the process with its status."""
    main_of(
        "mm2.cli.connect_distributed",
        "[options] worker.properties",
        sys.argv[1:] if arguments is None else arguments,
        _run,
    )


def _run(files: list[Path]) -> int:
    # The worker brings the whole data plane with it; --help and bad arguments answer at once.
    from mm2.driver.connect_start import run_distributed  # noqa: PLC0415

    return run_distributed(files[0])


if __name__ == "__main__":
    main()
