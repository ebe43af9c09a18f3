"""The bounded ring of samples behind the plots."""

from __future__ import annotations

from mm2.core.status_page.sample_history import EVERY_MS, Sample, SampleHistory, Summary


def _sample(lag: int, rate: float | None = 1.6) -> Sample:
    return Sample(bytes_per_s=rate, lag=lag, delay_ms=None)


def test_samples_are_columns_for_a_plot() -> None:
    history = SampleHistory()
    history.add(10_000, {"A->B": _sample(3)})
    history.add(20_000, {"A->B": _sample(4), "B->A": _sample(5)})
    assert history.since(0, ["A->B", "B->A"]) == {
        "flows": ["A->B", "B->A"],
        "times": [10, 20],
        "bytes_per_s": [[2, 2], [None, 2]],
        "lag": [[3, 4], [None, 5]],
        "delay_ms": [[None, None], [None, None]],
    }
    assert history.since(10_000, ["A->B"])["lag"] == [[4]]
    assert history.newest_ms == 20_000


def test_the_oldest_sample_goes_when_the_ring_is_full() -> None:
    history = SampleHistory(kept=2)
    for at in (1, 2, 3):
        history.add(at, {"A->B": _sample(at)})
    assert history.since(0, ["A->B"])["lag"] == [[2, 3]]


def test_a_sample_is_due_every_ten_seconds_and_when_the_clock_was_set_back() -> None:
    history = SampleHistory()
    assert history.is_due(0)
    history.add(50_000, {})
    assert not history.is_due(50_000 + EVERY_MS - 1)
    assert history.is_due(50_000 + EVERY_MS)
    assert history.is_due(40_000)
    history.add(40_000, {"A->B": _sample(1)})
    assert history.since(0, ["A->B"])["times"] == [40]


def test_a_summary_tells_now_mean_and_most() -> None:
    history = SampleHistory()
    for at, lag in ((1, 100), (2, 10), (3, 20)):
        history.add(at, {"A->B": _sample(lag)})
    assert history.summary("A->B", "lag", 1) == Summary(20, 15, 20)
    assert history.summary("A->B", "delay_ms", 0) == Summary(None, None, None)
    assert history.summary("other", "lag", 0) == Summary(None, None, None)
