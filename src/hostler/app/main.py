"""The executable `hostler`. What it runs is imported inside: Ctrl-C may come while that goes on."""

import _thread
import signal
import sys
import time
from types import FrameType


def main() -> None:
    """Run the command line of this process, and exit.

    SIGTERM ends a command as Ctrl-C does, and so does a terminal that is closed (SIGHUP), so that
    what it opened is closed and removed. That holds for a command, too, that a script started
    beside itself: its shell lets it ignore Ctrl-C.
    """
    _repeat_dropped_ctrl_c()
    try:
        if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
            _keep_ctrl_c_away()
        signal.signal(signal.SIGTERM, _as_ctrl_c)
        if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:  # as nohup has it
            signal.signal(signal.SIGHUP, _as_ctrl_c)
        from .collector import collect_seldom

        collect_seldom()
        from hostler.frontends.cli.console.process import run_process

        code = run_process(lambda: _run(sys.argv[1:]))
    except KeyboardInterrupt:
        code = 130
    sys.exit(code)


def _as_ctrl_c(number: int, frame: FrameType | None) -> None:
    """Do what Ctrl-C does at this moment: an event loop that runs cancels its main task.

    To raise KeyboardInterrupt here would break off whatever step the loop is in the midst of.
    """
    del number
    if callable(on_ctrl_c := signal.getsignal(signal.SIGINT)):
        on_ctrl_c(signal.SIGINT, frame)


def _repeat_dropped_ctrl_c() -> None:
    """Let Ctrl-C come once more where Python drops it: in a callback, such as its imports make.

    An exception cannot leave a callback or a finalizer: Python reports it, and the command would go
    on to its end.
    """
    report = sys.unraisablehook

    def unraisable(dropped: "sys.UnraisableHookArgs") -> None:
        if issubclass(dropped.exc_type, KeyboardInterrupt):
            _thread.start_new_thread(_press_ctrl_c, ())
        else:
            report(dropped)

    sys.unraisablehook = unraisable


def _press_ctrl_c() -> None:
    """Do as Ctrl-C does, from a thread, when the callback that dropped it has probably returned."""
    time.sleep(0.01)  # noqa: TID251 - of this process itself, whatever it runs
    _thread.interrupt_main()


def _keep_ctrl_c_away() -> None:
    """Block SIGINT, which was ignored, and give it the handler that an event loop looks for.

    Only where Python's own handler stands does a loop put one that cancels its main task: without
    it SIGTERM, which does as Ctrl-C does, was ignored as well.
    """
    signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGINT,))
    signal.signal(signal.SIGINT, signal.default_int_handler)


def _run(argv: list[str]) -> int:
    from .command_line import run

    return run(argv)


if __name__ == "__main__":
    main()
