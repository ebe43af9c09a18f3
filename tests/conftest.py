"""
Fixtures that every part of the suite may use.
"""

from __future__ import annotations

import gc
import os
import signal
import threading
import uuid
from collections.abc import Generator, Iterator, Mapping
from contextlib import suppress
from importlib import import_module

import pytest
import structlog
from hypothesis import settings

from mm2.config.text.expressions import RESOLVED
from mm2.kafka.wire.compiled import COMPILING, compile_now
from tests.support.at_once import FailuresAtOnce
from tests.support.cluster import Cluster, KafkaCluster
from tests.support.eventually import PATIENCE_S, eventually
from tests.support.hung_tests import HungTests
from tests.support.mirror import Mirror
from tests.support.providers import provided
from tests.support.spark_cluster import SparkCluster
from tests.support.topics import delete_all_topics

# A busy machine makes single examples slow; the suite's own timeout catches what hangs. In CI the
# examples are the same each time, as in Hypothesis' own profile for it: what fails there is new.
_IS_CI = bool(os.environ.get("CI"))
settings.register_profile("shared-machine", deadline=None, derandomize=_IS_CI)
settings.register_profile("quick", deadline=None, derandomize=_IS_CI, max_examples=10)
settings.load_profile("shared-machine")

# Schemathesis imports these when the run ends. Pytest parses what it imports first, which Python
# 3.11 may refuse after much else has run ("AST constructor recursion depth mismatch").
for _late in ("allure", "html.writer", "junitxml"):
    with suppress(ImportError):
        import_module(f"schemathesis.reporting.{_late}")

_INTERPRETERS = ("PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON")
_CLUSTERS = pytest.StashKey[list[Cluster]]()
_SPARKS_SECRET = {"spark.authenticate.secret": uuid.uuid4().hex}


def pytest_addoption(parser: pytest.Parser) -> None:
    """Adds ``--thorough`` and ``--brokers``."""
    parser.addoption(
        "--thorough", action="store_true", help="also the long tests: those marked thorough"
    )
    parser.addoption(
        "--brokers",
        metavar="VERSION[,VERSION]",
        help="versions of the brokers that are started: all but B's, then B's (MM2_TEST_VERSIONS)",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Tells those who start clusters which version is wanted; has programs hear signals."""
    # A suite in the background ignores some, and what it starts would inherit that.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
        signal.signal(signal.SIGHUP, signal.SIG_DFL)
    if versions := config.getoption("--brokers"):
        os.environ["MM2_TEST_VERSIONS"] = versions
    config.pluginmanager.register(HungTests())


def pytest_sessionstart(session: pytest.Session) -> None:
    """Has several processes show each failure when it happens, and not at the end only."""
    plugins = session.config.pluginmanager
    if plugins.hasplugin("dsession"):
        plugins.register(FailuresAtOnce(plugins.getplugin("terminalreporter")))


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Has what is marked so run on the local master, and again on a standalone cluster."""
    marker = metafunc.definition.get_closest_marker("also_on_spark_cluster")
    if marker is None:
        return
    marks = () if marker.kwargs.get("always") else (pytest.mark.thorough,)
    masters = ["local", pytest.param("standalone", marks=marks)]
    metafunc.parametrize("spark_settings", masters, indirect=True)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leaves the long tests out unless they are asked for, or named one by one."""
    if "PYTEST_XDIST_WORKER" in os.environ:
        # What takes long comes first, so that several processes end together.
        items.sort(key=lambda item: not _takes_long(item))
    if config.getoption("--thorough"):
        return
    named = tuple(word for word in config.args if "::" in word)
    long = [item for item in items if item.get_closest_marker("thorough")]
    left_out = [item for item in long if not item.nodeid.startswith(named)]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in left_out]


def pytest_collection_finish() -> None:
    """Has no later collection of garbage go through all tests: they stay until the end."""
    gc.collect()
    gc.freeze()


def _takes_long(item: pytest.Item) -> bool:
    return any(item.get_closest_marker(name) for name in ("broker", "spark", "reference"))


def pytest_runtest_setup(item: pytest.Item) -> None:
    """
    Has nothing compile in the background while Hypothesis, or a test, parses source.

    Python 3.11 fails with "AST constructor recursion depth mismatch" where two threads parse at
    once.
    """
    if item.get_closest_marker("hypothesis"):
        compile_now()
    for thread in threading.enumerate():
        if thread.name == COMPILING:  # an earlier test has begun that
            thread.join(PATIENCE_S)


def _session_cluster(name: str, request: pytest.FixtureRequest) -> Iterator[Cluster]:
    with provided(name) as cluster:
        request.config.stash.setdefault(_CLUSTERS, []).append(cluster)
        yield cluster


@pytest.fixture(scope="session")
def _session_a(request: pytest.FixtureRequest) -> Iterator[Cluster]:
    yield from _session_cluster("A", request)


@pytest.fixture(scope="session")
def _session_b(request: pytest.FixtureRequest) -> Iterator[Cluster]:
    yield from _session_cluster("B", request)


@pytest.fixture(scope="module")
def cluster_a(_session_a: Cluster) -> Iterator[Cluster]:
    """The first cluster, shared by the whole session: use names of your own in it."""
    yield from _without_topics_later(_session_a)


@pytest.fixture(scope="module")
def cluster_b(_session_b: Cluster) -> Iterator[Cluster]:
    """The second cluster, shared by the whole session: use names of your own in it."""
    yield from _without_topics_later(_session_b)


def _without_topics_later(cluster: Cluster) -> Iterator[Cluster]:
    """Deletes what a module leaves: each mirror of a later one would copy all heartbeats topics."""
    yield cluster
    delete_all_topics(cluster)


@pytest.fixture(scope="module")
def _standalone_spark() -> Iterator[SparkCluster]:
    """Room for four tasks; who is let in, and what is sent, is protected as the docs advise."""
    protected = {"spark.authenticate": "true", "spark.network.crypto.enabled": "true"}
    with SparkCluster(workers=2, cores=2, settings={**protected, **_SPARKS_SECRET}) as found:
        yield found


@pytest.fixture(autouse=True)
def spark_settings(request: pytest.FixtureRequest) -> Iterator[Mapping[str, str]]:
    """Settings with which mirrors run where a marked test wants them, which they are given."""
    if getattr(request, "param", "local") == "local":
        yield {}
        return
    spark: SparkCluster = request.getfixturevalue("_standalone_spark")
    settings, before = {**spark.application, **_SPARKS_SECRET}, spark.applications()
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(Mirror, "spark", settings)
        patched.setattr(Mirror, "work", spark.home / "work")
        yield settings
    assert spark.applications() > before, "no task of it has run there"
    eventually(lambda: spark.executors() == [])


@pytest.fixture(autouse=True)
def _logs_as_before() -> Iterator[None]:
    """Takes back how a command that ran in this process has set up the logs."""
    yield
    structlog.reset_defaults()


@pytest.fixture(autouse=True)
def _nothing_resolved() -> Iterator[None]:
    """Forgets what config providers of one test have read, which would be hidden in the next."""
    yield
    RESOLVED.clear()


@pytest.fixture(autouse=True)
def _interpreters_as_before() -> Iterator[None]:
    """Takes back which interpreter a SparkContext of this process has chosen for Spark."""
    before = {name: os.environ.get(name) for name in _INTERPRETERS}
    yield
    for name, value in before.items():
        os.environ.pop(name, None)
        if value is not None:
            os.environ[name] = value


@pytest.fixture
def unique(request: pytest.FixtureRequest) -> str:
    """A name that no other test uses, for topics, groups and users."""
    return f"{request.node.originalname[:40].replace('_', '-')}-{uuid.uuid4().hex[:8]}"


@pytest.fixture
def topic_name(unique: str) -> str:
    """A name for a topic that no other test uses."""
    return f"{unique}-topic"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Adds the brokers' warnings to the report of a failed test that uses them."""
    report = yield
    if report.failed and item.get_closest_marker("broker"):
        for cluster in item.config.stash.get(_CLUSTERS, []):
            if isinstance(cluster, KafkaCluster):
                title = f"Kafka {cluster.name}"
                report.sections.append((title, cluster.log_tail(important=True)))
    return report
