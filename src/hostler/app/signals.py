"""Signals: how a simulator in the foreground ends."""

import asyncio
import signal


def end_by_signals() -> None:
    """Let Ctrl-C and SIGTERM cancel the present task."""
    serving, loop = asyncio.current_task(), asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, serving.cancel if serving else loop.stop)
