"""Failures of a long run are shown when they happen: nobody waits twenty minutes for a reason."""

from __future__ import annotations

import pytest

_SHOWN = 8_000
"""Characters of each section of a report."""


class FailuresAtOnce:
    """
    A plug-in of the process that others report to.

    Args:
        terminal: what it writes to.
    """

    def __init__(self, terminal: pytest.TerminalReporter) -> None:
        self._terminal = terminal

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Shows a failure with the end of what was printed; all of it comes at the end."""
        if report.failed:
            self._terminal.write_line("")
            self._terminal.write_sep("_", f"{report.nodeid} ({report.when})", red=True)
            self._terminal.write_line(report.longreprtext)
            for title, text in report.sections:
                self._terminal.write_sep("-", title)
                self._terminal.write_line(text[-_SHOWN:])
