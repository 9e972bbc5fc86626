"""Process: a command line run to its end, whatever terminal, pipe or disk takes its output."""

import codecs
import errno
import os
import sys
import unicodedata
from collections.abc import Callable
from contextlib import suppress
from io import TextIOWrapper
from typing import TextIO, cast

from .exits import Exit

_PLAIN = "hostler-plain"
_SIGNS = {"✓": "+", "✗": "x", "→": "->", "…": "...", "€": "EUR", "×": "x", "·": ".", "≥": ">="}
_NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EBADF})
"""How a write to a file or a device fails that opened well."""


def run_process(work: Callable[[], int]) -> int:
    """Run a whole command line and return its exit code; no traceback for what the outside does.

    Signs that the terminal's encoding lacks are written in plain letters. Whoever reads our output
    may go away (a pager, `head`): that is no failure. Output that cannot be written is one.
    """
    _have_streams()
    try:
        code = work()
        sys.stdout.flush()
    except KeyboardInterrupt:
        code = int(Exit.INTERRUPTED)
    except BrokenPipeError:
        code = int(Exit.OK)
    except SystemExit as end:
        if not isinstance(end.__context__, BrokenPipeError):
            raise
        code = int(Exit.OK)  # rich makes a failure of it
    except OSError as error:
        if error.errno not in _NO_ROOM:
            raise
        with suppress(OSError):
            sys.stderr.write(f"hostler: its output cannot be written: {error.strerror}\n")
        code = int(Exit.FAILED)
    _let_go_of_output()
    return code


def _have_streams() -> None:
    """Let both streams take all that is written; those that are closed are Python's None."""
    streams = cast("TextIO | None", sys.stdout), cast("TextIO | None", sys.stderr)
    sys.stdout, sys.stderr = (stream or _nowhere() for stream in streams)
    write_plainly(sys.stdout)
    write_plainly(sys.stderr)


def _nowhere() -> TextIO:
    return os.fdopen(os.open(os.devnull, os.O_WRONLY), "w")


def write_plainly(stream: TextIO) -> None:
    """Let a stream write what its encoding lacks in plain letters instead of failing."""
    codecs.register_error(_PLAIN, _plain)
    if isinstance(stream, TextIOWrapper):
        stream.reconfigure(errors=_PLAIN)


def _plain(error: UnicodeError) -> tuple[str, int]:
    """Return what stands in for characters that an encoding lacks, as a codec asks for it."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    lacking = error.object[error.start : error.end]
    return "".join(_in_ascii(character) for character in lacking), error.end


def _in_ascii(character: str) -> str:
    if character in _SIGNS:
        return _SIGNS[character]
    letters = unicodedata.normalize("NFKD", character).encode("ascii", "ignore").decode()
    return letters or "?"


def _let_go_of_output() -> None:
    """Write what is left; what cannot be written must not fail again while Python ends."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            with suppress(OSError, ValueError):
                os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
