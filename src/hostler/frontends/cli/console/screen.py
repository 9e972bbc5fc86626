"""Screen: where a command prints: tables for a person, or one JSON object for a program."""

import sys
from collections.abc import Generator, Mapping
from contextlib import contextmanager

import msgspec
from rich.console import Console, RenderableType

from hostler.config.values import WrongFile
from hostler.domain.errors import HostlerError
from hostler.queries.standing import Standing

from .exits import HINTS, MEANINGS, Exit, exit_of
from .format import clean

WIDE = 240
"""Columns where the output is no terminal: nothing is cut."""


class Screen:
    """Standard output for results, standard error for everything else.

    With a `standing`, each result says beside it how the fleet file stands to what is on record.
    """

    def __init__(self, *, json: bool = False) -> None:
        self.json = json
        self.standing: Standing | None = None
        self.out, self.err = _console(stderr=False), _console(stderr=True)

    @property
    def live(self) -> bool:
        """Whether a person watches."""
        return self.out.is_terminal and not self.json

    def show(self, rendered: RenderableType, value: Mapping[str, object]) -> None:
        """Print what is rendered for a person, or the value as one line of JSON."""
        if self.json:
            self._line_beside_standing(value)
            return
        self.out.print(rendered)
        self._notices()

    def _line_beside_standing(self, value: Mapping[str, object]) -> None:
        self.line({**value, **({"standing": self.standing.document} if self.standing else {})})

    def _notices(self) -> None:
        for notice in self.standing.notices if self.standing else ():
            self.note(notice)

    def line(self, value: Mapping[str, object]) -> None:
        """Print one line of JSON, which is UTF-8 whatever the terminal's encoding is."""
        sys.stdout.flush()
        sys.stdout.buffer.write(msgspec.json.encode(value) + b"\n")
        sys.stdout.flush()

    def note(self, text: str) -> None:
        """Say something beside the result; not where a program reads."""
        if not self.json:
            self.err.print(clean(text))

    def fail(self, error: HostlerError) -> int:
        """Say what is wrong and return the exit code."""
        code = exit_of(error)
        if self.json:
            self._line_beside_standing({"error": _error(error, code)})
        else:
            hint = f"\n{HINTS[error.remedy]}" if error.remedy else ""
            self.err.print(clean(f"hostler: {error}{hint}"))
            self._notices()
        return int(code)

    def interrupted(self) -> int:
        """Say to a program that it was interrupted, which a person knows; return the exit code."""
        code = Exit.INTERRUPTED
        if self.json:
            error = {"kind": "Interrupted", "message": MEANINGS[code], "exit": int(code)}
            self._line_beside_standing({"error": {**error, "retry": False, "hint": None}})
        return int(code)

    @contextmanager
    def waiting(self, text: str) -> Generator[None]:
        """Show that something takes a while, where a person watches."""
        if self.json or not self.err.is_terminal:
            yield
            return
        with self.err.status(text):
            yield


def _console(*, stderr: bool) -> Console:
    console = Console(stderr=stderr, markup=False, highlight=False, emoji=False)
    if not console.is_terminal:
        console = Console(stderr=stderr, markup=False, highlight=False, emoji=False, width=WIDE)
    return console


def _error(error: HostlerError, code: int) -> dict[str, object]:
    document: dict[str, object] = {
        "kind": type(error).__name__,
        "message": str(error),
        "exit": int(code),
        "retry": error.retryable,
        "hint": HINTS[error.remedy] if error.remedy else None,
    }
    if isinstance(error, WrongFile):
        document["faults"] = [
            {"path": f.path, "value": f.value, "expected": f.expected, "hint": f.hint}
            for f in error.faults
        ]
    return document
