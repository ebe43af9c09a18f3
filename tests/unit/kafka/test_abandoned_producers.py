"""A producer that is given up with records on their way leaves no error behind."""

from __future__ import annotations

import asyncio
import gc

import pytest
from aiokafka.errors import KafkaTimeoutError
from aiokafka.structs import TopicPartition

from mm2.kafka.writer import _Producer


async def test_a_request_without_an_answer_is_given_up() -> None:
    where, sent = TopicPartition("t", 0), asyncio.Event()

    async def no_answer(*_: object) -> None:
        sent.set()
        await asyncio.Event().wait()

    producer = _Producer(bootstrap_servers="127.0.0.1:1")
    producer._send = no_answer
    answer = await producer._message_accumulator.add_message(where, b"k", b"v", 1.0)
    batch = producer._message_accumulator._pop_batch(where)
    request = asyncio.create_task(producer._sender._send_produce_req(0, {where: batch}))
    await sent.wait()
    await producer.abandon()
    assert request.cancelled()
    with pytest.raises(KafkaTimeoutError, match="closed"):
        await answer
    await producer.stop()


async def test_nothing_is_told_later_of_a_batch_that_nobody_has_sent() -> None:
    where, told = TopicPartition("t", 0), list[object]()
    asyncio.get_running_loop().set_exception_handler(lambda _, context: told.append(context))
    producer = _Producer(bootstrap_servers="127.0.0.1:1")
    answer = await producer._message_accumulator.add_message(where, b"k", b"v", 1.0)
    await producer.abandon()
    with pytest.raises(KafkaTimeoutError, match="closed"):
        await answer
    await producer.stop()
    del producer, answer
    gc.collect()
    assert told == []


async def test_a_batch_that_waits_to_be_sent_again_is_given_up_in_order() -> None:
    where, told = TopicPartition("t", 0), list[object]()
    asyncio.get_running_loop().set_exception_handler(lambda _, context: told.append(context))
    producer = _Producer(bootstrap_servers="127.0.0.1:1")
    waiting = producer._message_accumulator
    answer = await waiting.add_message(where, b"k", b"v", 1.0)
    waiting.reenqueue(waiting._pop_batch(where))
    await producer.abandon()
    with pytest.raises(KafkaTimeoutError, match="closed"):
        await answer
    assert told == []
    await producer.stop()
