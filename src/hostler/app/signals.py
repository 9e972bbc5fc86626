"""Signals: how a simulator in the foreground ends."""

import asyncio
import signal


def end_by_signals() -> None:
    """Let Ctrl-C and SIGTERM cancel the present task."""
    serving, loop = asyncio.current_task(), asyncio.get_running_loop()
    ends = (signal.SIGINT, signal.SIGTERM)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, ends)  # as an engine hears them: Signals.heard
    for number in ends:
        loop.add_signal_handler(number, serving.cancel if serving else loop.stop)
