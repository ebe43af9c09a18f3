"""What flows and connectors call their own topics and groups."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from mm2.core.filters import build_group_filter, build_topic_filter
from mm2.core.flow_names import FlowNames, connector_names, dedicated_names, topic_label
from mm2.core.model import GroupId, TopicName
from tests.support.configs import A_TO_B


def test_dedicated_nodes_use_the_names_of_javas_mirror_maker() -> None:
    assert dedicated_names(A_TO_B, group_id="A-mm2") == FlowNames(
        label="A->B",
        connector="MirrorSourceConnector",
        control_topic="mm2-control.A.internal",
        progress_topic="mm2-progress.A.internal",
        positions_group=GroupId("__mm2-A->B"),
        election_group=GroupId("A-mm2"),
    )


def test_connectors_have_names_of_their_own_in_each_worker_group() -> None:
    assert connector_names("mirror", group_id="connect") == FlowNames(
        label="mirror",
        connector="mirror",
        control_topic="mm2-control.connect.mirror.internal",
        progress_topic="mm2-progress.connect.mirror.internal",
        positions_group=GroupId("__mm2-connect-mirror"),
        election_group=GroupId("connect-mirror"),
    )
    assert connector_names("mirror", group_id="other") != connector_names(
        "mirror", group_id="connect"
    )


@given(st.text(min_size=1))
def test_any_name_of_a_connector_makes_topics_and_groups_that_are_nobody_s_to_mirror(
    name: str,
) -> None:
    names = connector_names(name, group_id="connect")
    for topic in (names.control_topic, names.progress_topic):
        assert re.fullmatch(r"[a-zA-Z0-9._-]{1,249}", topic)
        assert not build_topic_filter({}).should_replicate_topic(TopicName(topic))
    assert not build_group_filter({}).should_replicate_group(names.positions_group)


@given(st.sets(st.text("aA.->:/ é", min_size=1, max_size=8), min_size=2))
def test_different_texts_have_different_labels(texts: set[str]) -> None:
    assert len({topic_label(text) for text in texts}) == len(texts)


def test_long_texts_are_told_apart_though_topics_have_no_room_for_them() -> None:
    assert topic_label("a" * 150) == "a" * 150
    assert topic_label("a" * 151) != topic_label("a" * 152)
    assert len(topic_label("a" * 300)) < 170
