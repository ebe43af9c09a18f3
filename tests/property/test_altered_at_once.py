"""Several who alter one flow at the same time: whoever was told that it is done is not undone."""

from __future__ import annotations

import types
from collections.abc import AsyncIterator, Collection, Coroutine, Generator, Mapping
from dataclasses import replace
from typing import Any, cast
from unittest.mock import patch

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule

from mm2.config.flow_config import FlowConfig, flow_config
from mm2.config.mirror_maker_config import MirrorMakerConfig
from mm2.config.overrides import Alteration, Changes, alteration
from mm2.core.model import ClusterAlias, SourceAndTarget
from mm2.errors import ConfigError, ConfigErrors
from mm2.herder.control import alteration_writer
from mm2.herder.control.alteration_writer import AlterationWriter
from mm2.kafka.logs.records import Record
from mm2.kafka.writer import Writer
from mm2.protocol.control_backlog import ControlBacklog, KnownAlterations, desired_state_of
from mm2.protocol.control_codec import encode_control
from mm2.protocol.control_records import DesiredFlowState, FlowState

_CONFIG = flow_config(
    MirrorMakerConfig(
        raw={
            "clusters": "A,B",
            "A.bootstrap.servers": "a:1",
            "B.bootstrap.servers": "b:1",
            "A->B.enabled": "true",
        }
    ),
    SourceAndTarget(ClusterAlias("A"), ClusterAlias("B")),
)
_NOTHING = alteration(_CONFIG, {}, {}, ())
_USERS = st.integers(0, 3)
_VALUES = st.sampled_from(["1", "2", "3", None, "alone"])


async def _alteration(
    _: FlowConfig, earlier: Changes, changes: Changes, reset: Collection[str]
) -> Alteration:
    """As the real one, but a value of ``alone`` does not go with what anybody else has altered."""
    overrides = {**{k: v for k, v in earlier.items() if k not in reset}, **changes}
    if "alone" in changes.values() and overrides.keys() != changes.keys():
        raise ConfigErrors([ConfigError("somebody else has altered something")])
    return replace(_NOTHING, overrides=overrides)


@types.coroutine
def _others_go_on() -> Generator[None]:
    yield


class _User:
    """Alters a key of its own, as ``FlowCommands`` does."""

    def __init__(self, log: list[Record], key: str) -> None:
        self._log = log
        self._key = key
        self._running: Coroutine[Any, Any, None] | None = None
        self.has: str | None = None
        self.is_sure = True
        self.duplicates = False

    def begin(self, value: str | None) -> None:
        if self._running is None:
            self._running = self._alter(value)

    def go_on(self) -> bool:
        """Takes one step; whether there was one to take."""
        if self._running is None:
            return False
        try:
            self._running.send(None)
        except StopIteration:
            self._running = None
        return True

    def die(self) -> None:
        if self._running is not None:
            self._running.close()
            self._running, self.is_sure = None, False

    async def _alter(self, value: str | None) -> None:
        backlog = _read(self._log)
        earlier = backlog.altered.alterations.changes
        reset = [self._key] if value is None and self._key in earlier else []
        changes: Changes = {} if value is None else {self._key: value}
        try:
            done = await _alteration(_CONFIG, earlier, changes, reset)
            await AlterationWriter(
                _CONFIG, cast("Writer", self), self._read_after, changes, reset
            ).write(done, backlog)
        except ConfigErrors:
            return
        self.has, self.is_sure = value, True

    async def send(self, topic: str, key: bytes, value: bytes, *, partition: int) -> int:
        await _others_go_on()
        for _ in range(1 + self.duplicates):
            _append(self._log, key, value)
        written = len(self._log) - 1
        await _others_go_on()
        return written

    async def _read_after(self, offset: int) -> AsyncIterator[Record]:
        for record in self._log[offset + 1 :]:
            yield record
        await _others_go_on()


def _append(log: list[Record], key: bytes, value: bytes) -> None:
    end = len(log)
    log.append(Record(topic="t", partition=0, offset=end, timestamp_ms=0, key=key, value=value))


def _read(log: list[Record]) -> ControlBacklog:
    known = KnownAlterations()
    for record in log:
        known = known.then(record)
    return ControlBacklog(entries=(), end=len(log) - 1, altered=known)


class Users(RuleBasedStateMachine):
    """Four who alter a flow, each a key of its own, and the control topic."""

    def __init__(self) -> None:
        super().__init__()
        self.log: list[Record] = []
        self.users = [_User(self.log, f"k{number}") for number in range(4)]
        self._patch = patch.object(alteration_writer, "checked_alteration", _alteration)
        self._patch.start()

    @rule(user=_USERS, value=_VALUES)
    def begin(self, user: int, value: str | None) -> None:
        self.users[user].begin(value)

    @rule(user=_USERS)
    def go_on(self, user: int) -> None:
        self.users[user].go_on()

    @rule(user=_USERS)
    def die(self, user: int) -> None:
        self.users[user].die()

    @rule(user=_USERS, twice=st.booleans())
    def lose_answers(self, user: int, *, twice: bool) -> None:
        """What is written next is written twice, as answers are lost."""
        self.users[user].duplicates = twice

    @rule()
    def write_something_else(self) -> None:
        _append(self.log, *encode_control(DesiredFlowState(state=FlowState.RUNNING)))

    def teardown(self) -> None:
        try:
            self.finish()
            # Whoever died may have left a record that does not count; the next one sees to that.
            self.users[0].begin("4")
            self.finish()
        finally:
            self._patch.stop()
        found = desired_state_of(self.log).alterations.changes
        assert found == _read(self.log).altered.alterations.changes
        for user in self.users:
            assert not user.is_sure or found.get(user._key) == user.has

    def finish(self) -> None:
        for _ in range(1000):
            going_on = [user for user in self.users if user.go_on()]
            if not going_on:
                return
        raise AssertionError("somebody is never done")


TestUsers = Users.TestCase
TestUsers.settings = settings(max_examples=200, stateful_step_count=40, deadline=None)


def _ended(order: list[int]) -> Mapping[str, str | None]:
    """What is altered after some users, who all begin at once, have taken their turns in order."""
    users = Users()
    for user in set(order):
        users.begin(user, str(user))
    for user in order:
        users.go_on(user)
    users.teardown()
    return desired_state_of(users.log).alterations.changes


def test_the_third_does_not_undo_the_first_by_going_on_from_the_second() -> None:
    assert _ended([1, 2, 3, 1, 1, 2, 3, 3, 3, 3, 3, 3, 2, 2, 2, 2]) == {
        "k0": "4",
        "k1": "1",
        "k2": "2",
        "k3": "3",
    }
