"""That a local Spark needs no address of the machine."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytestmark = pytest.mark.spark

_OTHER_NAME = ("unshare", "--user", "--map-root-user", "--uts")
_JOB = """\
from flows.spark.context import context_of
from flows.spark.jvm import DEFAULTS, Jvm
settings = {**DEFAULTS, "spark.master": "local[1]"}
jvm = Jvm(settings)
jvm.listen(lambda _: False)
try:
    context = context_of(jvm, settings)
    print(context.parallelize([20, 22], 1).sum())
    context.stop()
finally:
    jvm.end()
"""


@pytest.fixture(autouse=True)
def _namespaces() -> None:
    if subprocess.run([*_OTHER_NAME, "true"], check=False).returncode:
        pytest.skip("this machine allows no namespaces")


def test_it_runs_where_the_machines_name_has_no_address() -> None:
    script = 'hostname no-such-host.invalid; exec "$@"'
    command = [*_OTHER_NAME, "sh", "-c", script, "sh", sys.executable, "-c", _JOB]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stdout.strip()) == (0, "42"), ended.stderr
