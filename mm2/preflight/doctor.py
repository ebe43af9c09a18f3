"""Everything that a mirror needs: its file, this machine, and its clusters."""

from __future__ import annotations

from typing import Final

from mm2.config.checks.failed_flows import FlowsOfFile
from mm2.config.checks.findings import Finding, Severity
from mm2.config.layers import spark_properties
from mm2.config.mirror_maker_config import MirrorMakerConfig
from mm2.config.text.properties import PropertiesFile
from mm2.core.checks import Check, Verdict
from mm2.driver.file_validation import made, validate
from mm2.errors import ConfigErrors
from mm2.preflight.examination import examine
from mm2.preflight.host_checks import host_checks

_CHECK: Final = "configuration"
_ABOUT: Final = "file"
_VERDICTS: Final = {
    Severity.ERROR: Verdict.NO_GO,
    Severity.WARNING: Verdict.CAUTION,
    Severity.NOTE: Verdict.NOTE,
}


async def diagnose(file: PropertiesFile, *, rate: float) -> list[Check]:
    """
    All checks.

    A flow that cannot be made is one, and the clusters of the others are still asked.

    Args:
        rate: bytes per second that a flow is expected to copy.
    """
    checks = [_of_file(each) for each in validate(file)]
    if not checks:
        message = "nothing is wrong with it"
        checks = [Check.go(_CHECK, _ABOUT, message)]
    try:
        maker = MirrorMakerConfig.of(file)
        flows = made(FlowsOfFile.of(maker, maker.cluster_pairs())).flows
        checks += await host_checks(spark_properties(maker))
    except ConfigErrors:
        return checks  # All of them are among the checks.
    enabled = [each for each in flows if each.source.enabled]
    return [*checks, *(await examine(enabled, rate=rate)).checks]


def _of_file(finding: Finding) -> Check:
    problem = finding.problem
    meant = "" if problem.suggestion is None else f"Write {problem.suggestion} in its place."
    return Check(
        name=_CHECK,
        subject=_ABOUT,
        verdict=_VERDICTS[finding.severity],
        sentence=str(problem),
        remedy=meant,
    )
