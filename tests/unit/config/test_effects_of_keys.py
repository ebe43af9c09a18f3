"""What a changed setting takes."""

from __future__ import annotations

import pytest

from mm2.config.keys.effects import Effect
from mm2.config.live_changes import (
    changed_keys,
    effects_in_connector,
    effects_in_worker,
    effects_of,
    is_of_process,
    rows,
)


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        ("topics", {Effect.TOPICS, Effect.CHECKPOINTS}),
        ("flow.byte.rate.limit", {Effect.TASKS}),
        ("tasks.max", {Effect.SHARES}),
        ("groups", {Effect.CHECKPOINTS}),
        ("emit.heartbeats.interval.seconds", {Effect.HEARTBEATS}),
        ("offset.lag.max", {Effect.BUNDLES}),
        ("producer.override.compression.type", {Effect.BUNDLES}),
        (
            "source.consumer.max.poll.records",
            {Effect.BUNDLES, Effect.CHECKPOINTS, Effect.HEARTBEATS},
        ),
        ("source.admin.retries", {Effect.FLOW}),
        ("source.cluster.bootstrap.servers", {Effect.FLOW}),
        ("source.cluster.alias", {Effect.FIXED}),
        ("replication.policy.class", {Effect.FLOW}),
        ("a.key.of.a.plugin", {Effect.FLOW}),
        ("transforms", {Effect.BUNDLES, Effect.CHECKPOINTS, Effect.HEARTBEATS}),
        ("predicates.p.type", {Effect.BUNDLES, Effect.CHECKPOINTS, Effect.HEARTBEATS}),
        ("topic.creation.groups", {Effect.NONE}),
        ("config.providers.file.class", {Effect.VALUES}),
        ("target.cluster.offset.flush.interval.ms", {Effect.NONE}),
        ("target.cluster.listeners", {Effect.NONE}),
    ],
)
def test_a_key_of_the_connectors_has_its_effect(key: str, expected: set[Effect]) -> None:
    assert effects_in_connector(key) == expected


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        ("offset.flush.interval.ms", {Effect.TASKS}),
        ("exactly.once.source.support", {Effect.FLOW}),
        ("producer.batch.size", {Effect.BUNDLES}),
        ("consumer.max.poll.records", {Effect.NONE}),
        ("group.id", {Effect.FIXED}),
        ("rest.advertised.port", {Effect.PROCESS}),
        ("bootstrap.servers", {Effect.FLOW}),
    ],
)
def test_a_key_of_the_worker_has_its_effect(key: str, expected: set[Effect]) -> None:
    assert effects_in_worker(key) == expected


def test_what_is_read_once_is_known() -> None:
    assert is_of_process("spark.master")
    assert is_of_process("listeners")
    assert not is_of_process("topics")


def test_effects_of_several_keys_come_together_without_those_that_are_none() -> None:
    assert effects_of(["topics", "topic.creation.groups"], ["offset.flush.interval.ms"]) == {
        Effect.TOPICS,
        Effect.CHECKPOINTS,
        Effect.TASKS,
    }
    assert effects_of([], []) == frozenset()
    assert effects_of([], ["group.id"]) == {Effect.FIXED, Effect.FLOW}


def test_changed_keys_came_went_or_have_another_value() -> None:
    before, after = {"a": "1", "b": "1", "c": "1"}, {"b": "2", "c": "1", "d": "1"}
    assert changed_keys(before, after) == ["a", "b", "d"]


def test_rows_are_one_for_each_key_and_say_something() -> None:
    names = [name for name, _ in rows()]
    assert len(set(names)) == len(names)
    assert {"topics", "producer.override.*", "B.offset.flush.interval.ms"} <= set(names)
    assert "B.plugin.path" not in names
    assert all(effects for _, effects in rows())
