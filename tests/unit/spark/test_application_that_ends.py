"""An application or its JVM may end at any time: what follows the cluster goes on."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any

import pytest
from py4j.protocol import Py4JNetworkError
from pyspark.serializers import CPickleSerializer
from pyspark.util import _load_from_socket
from structlog.testing import capture_logs

from flows.spark import context as context_module
from flows.spark import jobs as jobs_module
from flows.spark import live_slots
from flows.spark.jobs import SparkJobs
from flows.spark.spark_job import JobFailed, SparkJob, cancel, submit
from flows.spark.warmth import runs_empty_job
from tests.support.eventually import PATIENCE_S
from tests.support.idle_slots import idle_slots

_NO_SPARK = {"spark.master": "spark://127.0.0.1:1"}


@pytest.fixture
def threads() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(2) as pool:
        yield pool


class _WithoutResults:
    """A context whose JVM is gone when PySpark comes for the results of a job."""

    def __getattr__(self, _: str) -> Any:
        return lambda *_, **__: self

    def runJob(self, *_: object) -> list[object]:  # noqa: N802 - PySpark's name
        with socket.socket() as nobody:
            nobody.bind(("127.0.0.1", 0))
            port = nobody.getsockname()[1]
        with _load_from_socket((port, "secret", None), CPickleSerializer()) as results:
            return list(results)

    collect = runJob


async def _until_looked(
    monkeypatch: pytest.MonkeyPatch, threads: ThreadPoolExecutor, failures: list[Exception | None]
) -> list[str]:
    """Has looks fail like that, one after the other; returns the warnings."""
    monkeypatch.setattr(live_slots, "_CHECK_EVERY_S", 0.0)
    left, is_over = iter(failures), asyncio.Event()
    context: Any = object()

    async def follow(*_: object) -> None:
        failure = next(left, is_over)
        if failure is is_over:
            is_over.set()
        elif isinstance(failure, Exception):
            raise failure

    monkeypatch.setattr(live_slots, "_slots_now", lambda *_: None)
    live = idle_slots(threads, submitted=set, context=lambda: context)
    monkeypatch.setattr(live, "_follow", follow)
    with capture_logs() as logs:
        following = asyncio.create_task(live.run(), name="live-slots")
        ended = asyncio.create_task(is_over.wait(), name="looked")
        await asyncio.wait({following, ended}, return_when=asyncio.FIRST_COMPLETED)
        assert not following.done()
        following.cancel()
        await asyncio.gather(following, return_exceptions=True)
    return [line["error"] for line in logs if line["event"] == "spark.not_followed"]


async def test_a_jvm_that_goes_while_slots_are_adapted_does_not_end_that(
    monkeypatch: pytest.MonkeyPatch, threads: ThreadPoolExecutor
) -> None:
    gone = Py4JNetworkError("Answer from Java side is empty")
    assert await _until_looked(monkeypatch, threads, [gone, UnboundLocalError("sockfile")]) == []


async def test_what_else_fails_is_said_once_until_it_has_worked(
    monkeypatch: pytest.MonkeyPatch, threads: ThreadPoolExecutor
) -> None:
    wrong, other = ValueError("a"), KeyError("b")
    failures: list[Exception | None] = [wrong, wrong, other, None, other]
    said = await _until_looked(monkeypatch, threads, failures)
    assert said == ["ValueError: a", "KeyError: 'b'", "KeyError: 'b'"]


def test_jobs_whose_results_cannot_be_fetched_have_failed() -> None:
    context: Any = _WithoutResults()
    assert runs_empty_job(context, "group") is False
    with pytest.raises(JobFailed, match="the JVM is gone"):
        submit(context, SparkJob("group", "title", dict))


def test_an_empty_job_that_fails_in_any_way_has_not_run() -> None:
    def set_job_group(*_: object) -> None:
        raise RuntimeError

    context: Any = SimpleNamespace(setJobGroup=set_job_group)
    assert runs_empty_job(context, "group") is False


def test_jobs_of_an_application_that_was_stopped_are_cancelled_already() -> None:
    def cancel_job_group(_: str) -> None:
        raise AttributeError("'NoneType' object has no attribute 'sc'")

    context: Any = SimpleNamespace(cancelJobGroup=cancel_job_group)
    cancel(context, "group")


class _Ending:
    """A JVM that another thread forgets as soon as it ends."""

    is_own = True

    def __init__(self, jobs: SparkJobs) -> None:
        self._jobs = jobs
        self.has_ended = False

    def end(self, *, within_s: float) -> None:
        assert within_s == 0.0
        self.has_ended = True
        self._jobs._jvm = None


def _application(jobs: SparkJobs) -> _Ending:
    jvm: Any = _Ending(jobs)
    context: Any = object()
    jobs._jvm, jobs._context = jvm, context
    ending: _Ending = jvm
    return ending


async def test_an_application_is_forgotten_while_another_thread_ends_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(jobs_module, "check_master", lambda _: None)
    jobs = SparkJobs(_NO_SPARK)
    jvm = _application(jobs)
    jobs._forget()
    assert jvm.has_ended


@pytest.mark.parametrize(("master", "stops"), [("k8s://https://h:1", True), ("spark://h:1", False)])
async def test_pods_go_with_an_application_that_is_forgotten(
    monkeypatch: pytest.MonkeyPatch, *, master: str, stops: bool
) -> None:
    monkeypatch.setattr(jobs_module, "check_master", lambda _: None)
    jobs = SparkJobs({"spark.master": master})
    jvm = _application(jobs)
    had_ended: list[bool] = []
    context: Any = SimpleNamespace(stop=lambda: had_ended.append(jvm.has_ended))
    jobs._context = context
    jobs._forget()
    assert (had_ended, jvm.has_ended) == ([False] if stops else [], True)


async def test_an_api_that_does_not_answer_is_not_waited_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(jobs_module, "check_master", lambda _: None)
    monkeypatch.setattr(context_module, "_REMOVES_PODS_WITHIN_S", 0.01)
    jobs = SparkJobs({"spark.master": "k8s://https://h:1"})
    jvm = _application(jobs)

    def stop() -> None:
        while not jvm.has_ended:
            threading.Event().wait(0.001)
        raise Py4JNetworkError

    context: Any = SimpleNamespace(stop=stop)
    jobs._context = context
    jobs._forget()
    assert jvm.has_ended


async def test_the_next_application_is_not_ended_for_the_one_before(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    jobs = SparkJobs(_NO_SPARK)
    before = _application(jobs)
    later: list[_Ending] = []
    monkeypatch.setattr(jobs_module, "check_master", lambda _: later.append(_application(jobs)))
    jobs._forget()
    assert (before.has_ended, later[0].has_ended) == (True, False)


async def test_a_cluster_is_followed_again_if_that_has_ended() -> None:
    jobs = SparkJobs(_NO_SPARK)
    jobs._follow_cluster()
    first = jobs._following
    assert first is not None
    jobs._follow_cluster()
    assert jobs._following is first
    first.cancel()
    await asyncio.gather(first, return_exceptions=True)
    jobs._follow_cluster()
    assert jobs._following is not first
    await jobs.stop()


async def test_a_start_that_a_stop_waits_for_leaves_nothing_that_follows(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    jobs = SparkJobs(_NO_SPARK)
    has_begun, may_end = threading.Event(), threading.Event()

    def launch() -> object:
        has_begun.set()
        assert may_end.wait(PATIENCE_S)
        return object()

    monkeypatch.setattr(jobs, "_launch", launch)
    monkeypatch.setattr(jobs, "_shut_down", may_end.set)
    starting = asyncio.create_task(jobs.start(), name="starting")
    assert await asyncio.to_thread(has_begun.wait, PATIENCE_S)
    await jobs.stop()
    await starting
    following = jobs._following
    assert following is not None
    await asyncio.wait({following})
    assert following.cancelled()
