"""The socket between the two Python workers of a task with SQL: what is left of it, and when."""

from __future__ import annotations

import asyncio
import pickle
import tempfile
import threading
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from flows.source.transform.sql_chain import SqlChain, answered
from tests.support.eventually import eventually

_RECORD = pa.struct({"offset": pa.int64()})


@pytest.fixture(autouse=True)
def folder(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    with tempfile.TemporaryDirectory(dir="/tmp") as found:  # that of pytest has a long name
        monkeypatch.setattr(tempfile, "tempdir", found)
        yield Path(found)


def _of_spark(rows: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Makes of each record what it is."""
    for row in rows:
        number, path, result, records, _, _ = row.columns
        yield pa.record_batch({"n": number, "p": path, "r": result, "m": records})


def _late(rows: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Passes a row on when it has the next one, as Spark does."""
    waiting: list[pa.RecordBatch] = []
    for batch in rows:
        waiting += [batch.slice(at, 1) for at in range(len(batch))]
        yield from waiting[:-1]
        del waiting[:-1]
    yield from waiting


def _result(chain: SqlChain, work: Callable[[], Any]) -> Any:
    (batch,) = answered(_of_spark(_late(chain.run(work))))
    return pickle.loads(batch.column(0)[0].as_py())


def _asks(chain: SqlChain) -> list[dict[str, int]]:
    async def ask() -> list[dict[str, int]]:
        found = await chain.evaluate(pa.array([{"offset": 5}, {"offset": 7}], _RECORD))
        made: list[dict[str, int]] = found.to_pylist()
        return made

    return asyncio.run(ask())


def test_a_task_that_asks_for_nothing_leaves_no_thread_behind() -> None:
    before = set(threading.enumerate())
    for _ in SqlChain(_RECORD).run(lambda: None):  # nobody connects
        pass
    for each in set(threading.enumerate()) - before:
        each.join(timeout=30)
        assert not each.is_alive(), each.name


def test_its_result_comes_although_the_other_worker_finds_no_socket_any_more() -> None:
    chain = SqlChain(_RECORD)
    rows = list(chain.run(lambda: "done"))
    (batch,) = answered(_of_spark(rows))
    assert pickle.loads(batch.column(0)[0].as_py()) == "done"


def test_who_is_killed_leaves_no_socket_even_if_nothing_was_asked(folder: Path) -> None:
    def work() -> list[dict[str, int]]:
        eventually(lambda: list(folder.iterdir()), until=lambda found: not found)
        return _asks(chain)

    chain = SqlChain(_RECORD)
    assert list(folder.iterdir())
    assert _result(chain, work) == [{"offset": 5}, {"offset": 7}]


def test_answers_do_not_wait_for_the_next_request(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("flows.source.transform.sql_chain._TICK_S", 600.0)
    chain = SqlChain(_RECORD)
    asked = _result(chain, lambda: [_asks(chain) for _ in range(3)])
    assert asked == [[{"offset": 5}, {"offset": 7}]] * 3


def test_who_asks_for_nothing_finds_out_that_spark_is_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("flows.source.transform.sql_chain._TICK_S", 0.01)
    chain, is_over = SqlChain(_RECORD), threading.Event()
    rows = chain.run(is_over.wait)
    assert [len(next(rows)) for _ in range(3)] == [2, 1, 1]
    is_over.set()
    assert any(batch.column("result")[0].is_valid for batch in rows)


def test_a_long_name_of_the_folder_for_temporary_files_does_no_harm(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    long = folder / ("x" * 100)
    long.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(long))
    chain = SqlChain(_RECORD)
    assert _result(chain, lambda: _asks(chain)) == [{"offset": 5}, {"offset": 7}]
