"""What becomes of copies whose remote topic is gone, or is another one."""

from __future__ import annotations

from uuid import UUID

import pytest
from structlog.testing import capture_logs

from mm2.kafka.wire.error_codes import Code
from tests.support.remote_topic_bench import NEW_ID, OLD_ID, RemoteTopicBench


@pytest.mark.parametrize("found", [OLD_ID, None])
def test_a_topic_that_is_there_is_written_to(found: UUID | None) -> None:
    bench = RemoteTopicBench()
    bench.create(found)
    bench.look()
    assert bench.partition.remote.is_there
    assert bench.partition.remote.topic_id == OLD_ID
    assert bench.partition.fetch.position == 10


def test_nothing_is_sent_to_a_topic_that_is_gone_and_it_is_wished_for() -> None:
    bench = RemoteTopicBench()
    bench.look()
    bench.partition.validation.is_valid = True
    bench.send()
    bench.delete()
    bench.look()
    assert bench.partition.sender.is_idle
    assert bench.partition.fetch.position == 10, "what was not sent is fetched again"
    assert not bench.partition.remote.is_there
    assert not bench.partition.validation.is_valid
    assert bench.wishes == ["A.t"]


def test_what_may_not_be_created_is_wished_for_less_and_less_often() -> None:
    bench = RemoteTopicBench()
    bench.delete()
    wished: list[int] = []
    for bench.now_ms in range(0, 1_000_000, 5_000):
        bench.look()
        wished += [bench.now_ms // 1000] * (len(bench.wishes) - len(wished))
    assert wished == [0, 10, 30, 70, 150, 310, 610, 910]
    bench.create(OLD_ID)
    bench.look()
    bench.delete()
    bench.look()
    assert len(bench.wishes) == len(wished) + 1, "at once, when it has been there again"


def test_a_topic_that_is_new_is_not_missed_at_the_first_look() -> None:
    """Brokers may not know it yet; thousands of topics take them a while."""
    bench = RemoteTopicBench()
    bench.partition.remote.identify(None)
    bench.delete()
    told = []
    for _ in range(3):
        with capture_logs() as logs:
            bench.look()
        told.append([(each["event"], each["topic"]) for each in logs])
    assert told == [[], [("remote_topic.missing", "A.t")], []]
    assert bench.wishes == ["A.t"]


def test_a_topic_that_was_only_not_known_for_a_moment_is_gone_on_with() -> None:
    bench = RemoteTopicBench(fails=True)
    bench.look()
    bench.delete()
    bench.look()
    bench.create(OLD_ID)
    bench.look()
    assert bench.partition.remote.is_there
    assert (bench.partition.fetch.position, bench.partition.error) == (10, None)
    assert not bench.partition.gaps.reports


def test_a_new_topic_is_filled_from_the_start_of_the_source() -> None:
    bench = RemoteTopicBench()
    bench.look()
    bench.delete()
    bench.look()
    bench.create(NEW_ID)
    bench.look()
    assert bench.partition.fetch.position == 3
    assert bench.partition.remote.topic_id == NEW_ID
    assert bench.partition.remote.is_there
    (report,) = bench.partition.gaps.reports
    assert (report.kind, report.first, report.end) == ("remote-recreated", 3, 10)


def test_by_policy_it_stops_when_the_topic_is_certainly_gone() -> None:
    bench = RemoteTopicBench(fails=True)
    bench.delete()
    errors = []
    for _ in range(2):
        bench.look()
        errors.append(bench.partition.error)
    assert errors == [None, "the remote topic A.t was deleted"]
    assert bench.wishes == []


def test_by_policy_it_stops_when_the_topic_is_another() -> None:
    bench = RemoteTopicBench(fails=True)
    bench.create(NEW_ID)
    bench.look()
    assert bench.partition.error == "remote-recreated: offsets 3 to 10"
    assert not bench.partition.remote.is_there


@pytest.mark.parametrize("fails", [True, False])
def test_the_copy_of_a_topic_that_is_gone_itself_is_not_missed(*, fails: bool) -> None:
    bench = RemoteTopicBench(fails=fails)
    bench.partition.validation.mark_missing(is_missing=True)
    bench.delete()
    bench.look()
    bench.look()
    assert bench.partition.error is None
    assert bench.wishes == []


def test_a_topic_that_may_not_be_seen_is_waited_for_with_a_reason() -> None:
    bench = RemoteTopicBench()
    bench.cluster.error = Code.TOPIC_AUTHORIZATION_FAILED
    bench.look()
    assert not bench.partition.remote.is_there
    assert bench.partition.sender.last_error == "the target answers TOPIC_AUTHORIZATION_FAILED"
