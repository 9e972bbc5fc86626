"""Fitting: a picture too tall for its screen shows the latest of its lines, not the first.

A live screen cuts off what is too tall at its lower end, where the news is.
"""

from bisect import bisect_right
from collections.abc import Callable

from msgspec import Struct
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult


class Fitted(Struct, frozen=True):
    """A picture with as many lines as fit the screen, `most` of them at most.

    `picture` draws it with the last ones, as many as it is told. Without any it may be too tall.
    """

    picture: Callable[[int], RenderableType]
    most: int

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        def height(lines: int) -> int:
            picture = self.picture(lines)
            return len(console.render_lines(picture, options.reset_height(), pad=False))

        if height(self.most) <= console.height:
            yield self.picture(self.most)
            return
        yield self.picture(max(0, bisect_right(range(self.most), console.height, key=height) - 1))
