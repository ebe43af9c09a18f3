"""Whether all tasks of a flow have said that they have ended."""

from __future__ import annotations

from mm2.core.model import TopicName, TopicPartition
from mm2.herder.control import Assignment, BundleState, Entry, Lease
from mm2.herder.last_words import is_over
from mm2.herder.progress import BundleProgress, decode_progress, encode_progress


def assigned(index: int, epoch: int = 2) -> Assignment:
    where = TopicPartition(TopicName("t"), index)
    return Assignment(
        index=index,
        epoch=epoch,
        generation=1,
        state=BundleState.RUNNING,
        partitions={where: TopicName("A.t")},
    )


def said(bundle: int, *, last: bool, epoch: int = 2) -> BundleProgress:
    return BundleProgress(
        bundle=bundle,
        epoch=epoch,
        generation=1,
        time_ms=0,
        pid=1,
        partitions=(),
        is_last=last,
    )


CONTROL: list[Entry] = [Lease(epoch=2, owner="n"), assigned(0), assigned(1), assigned(2, epoch=1)]
"""Two bundles, and one of a former leader."""


def test_a_flow_is_over_when_every_bundle_of_the_last_leader_has_ended() -> None:
    words = [said(0, last=False), said(0, last=True), said(1, last=True)]
    assert is_over(CONTROL, words)
    assert not is_over(CONTROL, words[:2]), "one has not said so"
    assert not is_over(CONTROL, [*words, said(1, last=False)]), "one was started again"
    assert not is_over(CONTROL, [said(0, last=True, epoch=1), *words[2:]]), "of a former leader"


def test_a_leader_that_has_not_given_anything_to_do_may_be_about_to() -> None:
    words = [said(0, last=True), said(1, last=True)]
    assert not is_over([*CONTROL, Lease(epoch=3, owner="other")], words)
    assert not is_over([], [])


def test_a_last_word_is_read_as_it_was_written() -> None:
    _, value = encode_progress(said(0, last=True))
    assert decode_progress(value).is_last
    assert not decode_progress(value.replace(b',"is_last":true', b"")).is_last, "earlier releases"
