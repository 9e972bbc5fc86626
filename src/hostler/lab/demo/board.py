"""Board: what a demo tells, on a screen: a live picture in a terminal, plain lines elsewhere."""

from collections import deque
from collections.abc import Sequence
from types import TracebackType
from typing import Self

from rich.console import Group, RenderableType
from rich.live import Live
from rich.text import Text

from hostler.frontends.cli.console.screen import Screen
from hostler.frontends.cli.render.fitting import Fitted
from hostler.frontends.cli.render.tables import ink

_LINES = 14


class Board:
    """Entered once, for a demo's length; below a picture stand the last lines."""

    def __init__(self, screen: Screen) -> None:
        """Show on this screen."""
        self.screen = screen
        self._lines = deque[Text](maxlen=_LINES)
        self._live: Live | None = None

    def __enter__(self) -> Self:
        if self.screen.live:
            self._live = Live(console=self.screen.out, auto_refresh=False, transient=True)
            self._live.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._live is not None:
            self._live.stop()
            self._live = None

    @property
    def is_live(self) -> bool:
        """Whether a picture is wanted."""
        return self._live is not None

    def draw(self, *rows: RenderableType) -> None:
        """Show a picture in place of the last one, with as many of the last lines as fit below."""
        if self._live is not None:
            self._live.update(below(rows, tuple(self._lines)), refresh=True)

    def line(self, text: str, style: str = "") -> None:
        """Tell something: a line of the next picture, or one that is printed at once."""
        line = ink(text, style)
        if self._live is not None:
            line.no_wrap, line.overflow = True, "ellipsis"
            self._lines.append(line)
        elif self.screen.json:
            print(line.plain, flush=True)
        else:
            self.screen.out.print(line)


def below(rows: Sequence[RenderableType], lines: Sequence[Text]) -> RenderableType:
    """Return rows with lines below them: the last ones that the screen has room for."""
    return Fitted(lambda count: Group(*rows, *lines[len(lines) - count :]), len(lines))
