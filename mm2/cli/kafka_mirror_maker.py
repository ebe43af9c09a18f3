"""
``kafka-mirror-maker``: the tool before MirrorMaker 2 (KIP-3), with the flags of its last release.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Final, NoReturn

from mm2 import __version__
from mm2.config.legacy.copy_plan import ArgumentErrors, CopyPlan, read_copy_plan
from mm2.config.legacy.flags import FLAGS, LOG_LEVEL, Flag
from mm2.core.plugin import close_all
from mm2.errors import ConfigError, ConfigErrors, FatalError
from mm2.telemetry.log_settings import export_log_settings, parse_levels

_EXIT_ARGUMENTS: Final = 1
_EXIT_START: Final = 3
_USAGE: Final = (
    "usage: kafka-mirror-maker --consumer.config FILE --producer.config FILE --include TOPICS"
    " [options]"
)
_HEAD: Final = f"""\
{_USAGE}

Copies topics from one cluster to another, as a consumer group: any number of processes share the
partitions. Offsets are committed only for what the target has acknowledged.

"""


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Copies until a signal, and ends the process with its status."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    if "--help" in words or "-h" in words:
        print(help_text(), end="")
        sys.exit(0)
    if "--version" in words:
        print(f"mm2 {__version__}")
        sys.exit(0)
    status = _run(words)
    close_all()
    sys.stdout.flush()
    sys.stderr.flush()
    # Everything of ours is closed; threads of client libraries may still wait for clusters.
    os._exit(status)


def help_text() -> str:
    """What ``--help`` prints."""
    return _HEAD + "\n".join(_lines(flag) for flag in FLAGS) + "\n"


def _lines(flag: Flag) -> str:
    spellings = ", ".join((flag.name, *flag.aliases))
    older = f" Deprecated: {', '.join(flag.older)}." if flag.older else ""
    return f"  {spellings} {flag.value}".rstrip() + f"\n      {flag.doc}{older}"


def _run(words: Sequence[str]) -> int:
    try:
        plan = read_copy_plan(words)
        _export_levels(plan)
        # The driver brings the whole data plane with it; bad arguments answer at once.
        from mm2.driver.legacy_start import run_legacy_mirror  # noqa: PLC0415

        return run_legacy_mirror(plan)
    except ArgumentErrors as errors:
        for line in errors.lines:
            print(f"kafka-mirror-maker: {line}", file=sys.stderr)
        print(f"{_USAGE}; see --help", file=sys.stderr)
    except ConfigErrors as errors:
        for problem in errors.problems:
            print(f"kafka-mirror-maker: {problem}", file=sys.stderr)
    except ConfigError as error:
        print(f"kafka-mirror-maker: {error}", file=sys.stderr)
    except FatalError as error:
        print(error, file=sys.stderr)
        return _EXIT_START
    return _EXIT_ARGUMENTS


def _export_levels(plan: CopyPlan) -> None:
    """Sets the variable of the environment, which this process and its tasks obey."""
    levels = plan.arguments.log_levels
    try:
        parse_levels(levels or "")
    except ConfigError as error:
        raise ArgumentErrors([(LOG_LEVEL, error)]) from error
    export_log_settings(levels, None)


if __name__ == "__main__":
    main()
