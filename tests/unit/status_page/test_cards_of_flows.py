"""What the page says of a flow."""

from __future__ import annotations

from dataclasses import replace

from msgspec import structs

from mm2.config.checks.failed_flows import FailedFlow
from mm2.core.connect.status_records import RunState
from mm2.errors import ConfigError, Unavailable
from mm2.status_page.flow_cards import MOST_TOPICS, FlowCard, Health, SeenFlow, flow_card, worst
from tests.support.configs import A_TO_B
from tests.support.status_page import copied, partition, running


def _card(seen: SeenFlow) -> FlowCard:
    return flow_card(A_TO_B, str(A_TO_B), 0, seen)


def test_a_flow_that_copies_as_records_come_is_good() -> None:
    card = _card(running(A_TO_B, copied("a"), copied("b")))
    assert (card.health, card.state, card.problems) == (Health.GOOD, "running", ())
    assert card.sample.lag == 0
    assert card.sample.delay_ms == 14


def test_a_first_copy_is_behind_and_its_topics_come_first() -> None:
    card = _card(running(A_TO_B, copied("a"), partition("b", lag=200), partition("c", lag=700)))
    assert (card.health, card.state) == (Health.BEHIND, "catching up")
    assert [each.topic for each in card.topics] == ["c", "b", "a"]
    assert card.progress is not None
    assert card.progress.percent == 70


def test_a_partition_that_stands_is_bad_and_its_topic_the_first() -> None:
    card = _card(running(A_TO_B, partition("a"), structs.replace(copied("z"), error="refused")))
    assert card.health is Health.BAD
    assert (card.topics[0].topic, card.topics[0].errors) == ("z", ["refused"])


def test_a_flow_of_which_nobody_reports_has_no_numbers() -> None:
    card = _card(running(A_TO_B, partition("a", reported_ms=None, lag=None)))
    assert card.progress is None
    assert card.sample.lag is None


def test_a_flow_that_is_stopped_rests() -> None:
    view = running(A_TO_B, copied("a"))
    stopped = tuple(
        replace(each, target_state=RunState.STOPPED, state=RunState.STOPPED, tasks=())
        for each in view.connectors
    )
    card = _card(replace(view, connectors=stopped))
    assert (card.health, card.state) == (Health.RESTING, "stopped")


def test_a_flow_without_a_source_connector_sends_heartbeats_only() -> None:
    view = running(A_TO_B)
    card = _card(replace(view, connectors=view.connectors[2:]))
    assert (card.health, card.state) == (Health.RESTING, "heartbeats only")


def test_what_cannot_be_seen_says_why() -> None:
    away = _card(Unavailable("B", "no broker answers"))
    assert (away.health, away.problems) == (Health.BAD, ("cluster B: no broker answers",))
    wrong = FailedFlow(flow=A_TO_B, is_enabled=True, problems=[ConfigError("topics: bad (a)")])
    assert _card(wrong).problems == ("topics: bad (a)",)
    assert _card(None).health is Health.UNKNOWN


def test_no_more_topics_are_listed_than_can_be_read() -> None:
    names = [f"t{number:03}" for number in range(MOST_TOPICS + 7)]
    card = _card(running(A_TO_B, *map(copied, names)))
    assert (len(card.topics), card.more_topics) == (MOST_TOPICS, 7)


def test_the_worst_flow_tells_how_all_are() -> None:
    good, behind = _card(running(A_TO_B, copied("a"))), _card(running(A_TO_B, partition("a")))
    assert worst([good, behind]) is Health.BEHIND
    assert worst([good, behind, _card(Unavailable("B", "away"))]) is Health.BAD
    assert worst([]) is Health.RESTING
