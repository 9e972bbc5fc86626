"""Wait for an event, and no longer than a while."""

import asyncio
from datetime import timedelta


async def until(event: asyncio.Event, longest: timedelta) -> None:
    """Return when the event is set; after `longest` it is set here.

    A timer that sets it costs half of a deadline that cancels the task, and an engine waits so
    several times a second for as long as it runs.
    """
    timer = asyncio.get_running_loop().call_later(longest.total_seconds(), event.set)
    try:
        await event.wait()
    finally:
        timer.cancel()
