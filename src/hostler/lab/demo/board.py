"""Board: what a demo tells, on a screen: a live picture in a terminal, plain lines elsewhere."""

from collections import deque
from types import TracebackType
from typing import Self

from rich.console import RenderableType
from rich.live import Live
from rich.text import Text

from hostler.frontends.cli.console.screen import Screen
from hostler.frontends.cli.render.tables import ink

_LINES = 14
_LEAST_WIDTH = 20


class Board:
    """Entered once, for a demo's length; `lines` are the last ones, for the picture."""

    def __init__(self, screen: Screen) -> None:
        """Show on this screen."""
        self.screen = screen
        self.lines = deque[Text](maxlen=_LINES)
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

    def draw(self, picture: RenderableType) -> None:
        """Show a picture in place of the last one."""
        if self._live is not None:
            self._live.update(picture, refresh=True)

    def line(self, text: str, style: str = "") -> None:
        """Tell something: a line of the next picture, or one that is printed at once."""
        line = ink(text, style)
        if self._live is not None:
            line.truncate(max(_LEAST_WIDTH, self.screen.out.width - 2), overflow="ellipsis")
            self.lines.append(line)
        elif self.screen.json:
            print(line.plain, flush=True)
        else:
            self.screen.out.print(line)
