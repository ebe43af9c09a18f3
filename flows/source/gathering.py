"""
Lets single records gather where they come fast, so that some come together.

A record that comes alone costs brokers and us a fetch and a request of its own. At a thousand a
second these would take a core, and all would wait for that. So what is fetched next is fetched when
the target has what came before: the busier anybody is, the longer that takes, and the more comes
together. Where nobody is busy that is about a millisecond, and it never is more than a few.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Final

from flows.source.reading import Reading

TRICKLE_BYTES: Final = 16 << 10
"""Of the answer to a fetch; larger ones are worth a request of their own."""

_MOST_S: Final = 0.005
"""From one fetch to the next: the target may be far away, or refuse what came."""


async def gather(reading: Reading, freed: asyncio.Event, *, since: float) -> None:
    """
    Waits until the target has what came, for a moment at most.

    Args:
        reading: what is fetched from the node that has answered.
        freed: set whenever the target has something more; cleared here.
        since: when the last fetch began, by the event loop's clock.
    """
    until = since + _MOST_S
    if not reading.is_under_way or asyncio.get_running_loop().time() >= until:
        return
    with suppress(TimeoutError):
        async with asyncio.timeout_at(until):
            while reading.is_under_way:
                freed.clear()
                await freed.wait()
