"""Whatever a class of the user's own does, it neither ends nor blocks what calls it."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import ClassVar

import pytest
from structlog.testing import capture_logs

from mm2.client.mirror_client import MirrorClient
from mm2.core.filters import TopicFilter, build_topic_filter
from mm2.core.model import ClusterAlias, TopicName
from mm2.core.plugin import held, hold, release
from mm2.core.policy import DefaultReplicationPolicy, build_policy
from mm2.errors import ConfigError
from mm2.herder.flow_classes import load_classes
from mm2.user_code import Foreign, ForeignError, wait_closed
from tests.support.configs import config_of
from tests.support.eventually import PATIENCE_S, eventually

BEGUN = threading.Event()
GO_ON = threading.Event()


class _Answers(TopicFilter):
    """Does what is asked of it."""

    def should_replicate_topic(self, topic: TopicName) -> bool:
        return topic == "yes"


class EndsWhenCreated(_Answers):
    def __init__(self) -> None:
        raise SystemExit(2)


class EndsWhenConfigured(_Answers):
    def configure(self, properties: Mapping[str, str]) -> None:
        raise KeyboardInterrupt


class _Odd(BaseException):
    def __repr__(self) -> str:
        raise SystemExit(3)


class EndsWhenAsked(_Answers):
    def should_replicate_topic(self, topic: TopicName) -> bool:
        raise _Odd


class _NeverTrue:
    def __bool__(self) -> bool:
        raise SystemExit(4)


class AnswersWithCode(_Answers):
    def should_replicate_topic(self, topic: TopicName) -> bool:
        return _NeverTrue()  # type: ignore[return-value]  # nobody keeps it from that


class RefusesItself(_Answers):
    def configure(self, properties: Mapping[str, str]) -> None:
        raise ConfigError("mine", key="own.key")


class LacksAnAnswer(TopicFilter):
    pass


class OwnPolicy(DefaultReplicationPolicy):
    """Asks itself, which must not wait for itself."""

    def upstream_topic(self, topic: TopicName) -> TopicName | None:
        return super().upstream_topic(topic)


def _build(name: str) -> TopicFilter:
    return build_topic_filter({"topic.filter.class": f"{__name__}:{name}"})


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("EndsWhenCreated", r"cannot be created without arguments: SystemExit\(2\)"),
        ("EndsWhenConfigured", r"has failed in configure: KeyboardInterrupt\(\)"),
        ("LacksAnAnswer", "cannot be created without arguments: TypeError"),
    ],
)
def test_a_class_that_ends_the_process_cannot_be_had(name: str, reason: str) -> None:
    with pytest.raises(ConfigError, match=reason) as caught:
        _build(name)
    assert caught.value.key == "topic.filter.class"


@pytest.mark.parametrize(
    ("name", "reason"),
    [("EndsWhenAsked", ": _Odd"), ("AnswersWithCode", r"SystemExit\(4\)")],
)
def test_an_answer_that_ends_the_process_is_an_error(name: str, reason: str) -> None:
    found = _build(name)
    with pytest.raises(ConfigError, match=f"has failed in should_replicate_topic.*{reason}"):
        found.should_replicate_topic(TopicName("yes"))


def test_what_a_class_says_of_its_configuration_is_told_as_it_says_it() -> None:
    with pytest.raises(ConfigError, match=r"^mine$") as caught:
        _build("RefusesItself")
    assert caught.value.key == "own.key"


def test_a_class_that_does_what_it_should_is_asked() -> None:
    found = _build("_Answers")
    assert isinstance(found, _Answers)
    assert found.should_replicate_topic(TopicName("yes"))
    assert not found.should_replicate_topic(TopicName("no"))
    policy = build_policy({"replication.policy.class": f"{__name__}:OwnPolicy"})
    assert policy.original_topic(TopicName("A.B.t")) == "t"
    assert policy.format_remote_topic(ClusterAlias("A"), TopicName("t")) == "A.t"


def test_a_module_that_ends_the_process_cannot_be_had(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "ends_when_imported.py").write_text("raise SystemExit(2)\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ConfigError, match=r"cannot be imported: SystemExit\(2\)"):
        build_topic_filter({"topic.filter.class": "ends_when_imported:X"})


@pytest.fixture
def _waiting_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    (tmp_path / "waits_when_imported.py").write_text(
        f"from {__name__} import BEGUN, GO_ON, _Answers as X\nBEGUN.set()\nGO_ON.wait()\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    BEGUN.clear()
    GO_ON.clear()
    yield
    GO_ON.set()


@pytest.mark.usefixtures("_waiting_module")
async def test_an_event_loop_goes_on_while_a_module_is_imported() -> None:
    """The module waits for what only the loop does; if the loop waited for it, neither ended."""
    config = config_of({"topic.filter.class": "waits_when_imported:X"})
    loading = asyncio.ensure_future(load_classes(config))
    assert await asyncio.to_thread(BEGUN.wait, PATIENCE_S)
    assert not loading.done()
    GO_ON.set()
    await loading


def test_who_does_not_answer_is_waited_for_once_and_asked_again_when_he_has() -> None:
    thread, end = Foreign("test"), threading.Event()
    with pytest.raises(ForeignError, match="has not returned within 0 s"):
        thread.call(end.wait, within_s=0.01)
    with pytest.raises(ForeignError, match="an earlier call has not returned yet"):
        thread.call(lambda: 1)
    end.set()
    assert _soon(lambda: thread.call(lambda: 1)) == 1


class TellsItsLife(_Answers):
    """Writes down when it is created and closed."""

    told: ClassVar[list[str]] = []

    def __init__(self) -> None:
        self.told.append("created")

    def configure(self, properties: Mapping[str, str]) -> None:
        if "refused" in properties:
            raise ConfigError("mine")

    def close(self) -> None:
        self.told.append("closed")


class EndsWhenClosed(_Answers):
    def close(self) -> None:
        raise SystemExit(5)


class NeverCloses(_Answers):
    def close(self) -> None:
        GO_ON.wait()


def _properties(name: str, **more: str) -> dict[str, str]:
    return {"topic.filter.class": f"{__name__}:{name}", **more}


class TellingPolicy(DefaultReplicationPolicy):
    """Writes down when it is closed."""

    def close(self) -> None:
        TellsItsLife.told.append("closed")


@pytest.fixture
def told() -> list[str]:
    wait_closed()  # A test before this one may have left some to be closed.
    TellsItsLife.told.clear()
    return TellsItsLife.told


def test_all_holders_of_a_configuration_have_the_same_object_and_the_last_one_closes_it(
    told: list[str],
) -> None:
    properties = _properties("TellsItsLife")
    with held(properties):
        found = build_topic_filter(properties)
        with held(dict(properties)):
            assert build_topic_filter(dict(properties)) is found
        wait_closed()
        assert told == ["created"]
        with held(other := {**properties, "topics": "other"}):
            assert build_topic_filter(other) is not found
        wait_closed()
        assert told == ["created", "created", "closed"]
    wait_closed()
    assert told == ["created", "created", "closed", "closed"]
    with held(properties):
        assert build_topic_filter(properties) is not found


def test_what_was_created_before_anybody_held_it_is_closed_with_its_holder(
    told: list[str],
) -> None:
    found = build_topic_filter(_properties("TellsItsLife"))
    with held(_properties("TellsItsLife")):
        assert build_topic_filter(_properties("TellsItsLife")) is found
    wait_closed()
    assert told == ["created", "closed"]


def test_an_object_that_cannot_be_configured_is_closed(told: list[str]) -> None:
    with pytest.raises(ConfigError, match="mine"):
        build_topic_filter(_properties("TellsItsLife", refused=""))
    wait_closed()
    assert told == ["created", "closed"]


async def test_a_client_of_a_cluster_closes_its_policy_once(told: list[str]) -> None:
    policy = f"{__name__}:TellingPolicy"
    client = MirrorClient({"bootstrap.servers": "b:1", "replication.policy.class": policy})
    assert isinstance(client.replication_policy, TellingPolicy)
    await client.close()
    await client.close()
    await asyncio.to_thread(wait_closed)
    assert told == ["closed"]


def test_threads_that_ask_at_the_same_time_get_the_same_object(told: list[str]) -> None:
    properties, at_once = _properties("TellsItsLife"), threading.Barrier(8)

    def ask() -> TopicFilter:
        at_once.wait()
        return build_topic_filter(properties)

    with held(properties), ThreadPoolExecutor(8) as pool:
        found = {id(each.result()) for each in [pool.submit(ask) for _ in range(8)]}
        assert len(found) == 1
    wait_closed()
    assert told == ["created", "closed"]


def test_a_close_that_ends_the_process_is_logged() -> None:
    with capture_logs() as logged:
        with held(_properties("EndsWhenClosed")):
            build_topic_filter(_properties("EndsWhenClosed"))
        wait_closed()
        assert _soon_logged(logged) == ("class.not_closed", "SystemExit(5)")


def test_a_close_that_does_not_return_is_waited_for_by_the_end_alone_and_not_for_long() -> None:
    GO_ON.clear()
    hold(_properties("NeverCloses"))
    build_topic_filter(_properties("NeverCloses"))
    release(_properties("NeverCloses"))
    with capture_logs() as logged:
        wait_closed(0.01)
        assert _soon_logged(logged) == ("class.not_closed", "1 have not returned within 0 s")
    GO_ON.set()
    wait_closed()


def _soon_logged(logged: Sequence[Mapping[str, object]]) -> tuple[object, object]:
    ((event, error),) = eventually(lambda: [(each["event"], each["error"]) for each in logged])
    return event, error


def _soon(ask: Callable[[], int]) -> int:
    while True:
        try:
            return ask()
        except ForeignError as error:
            assert "earlier call" in str(error)  # noqa: PT017 - until it has returned
