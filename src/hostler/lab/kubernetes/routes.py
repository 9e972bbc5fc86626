"""Routes: the way of each process to the API server, which may be cut for one of them alone."""

from collections.abc import Callable
from dataclasses import dataclass, field

from hostler.kubernetes.errors import Unavailable

CUT_OFF = "api_cut_off"
"""One process reaches the API server no more, with its records there and its objects."""
UNHEARD = "api_unheard"
"""One process hears nothing of what it watches, as over dead connections; calls are answered."""


@dataclass(slots=True)
class Route:
    """The way of one process to the API server.

    `watched` break off what goes over it, and those of `silenced` let nothing come that they watch.
    """

    is_cut: bool = False
    watched: list[Callable[[], None]] = field(default_factory=list[Callable[[], None]])
    silenced: list[Callable[[], None]] = field(default_factory=list[Callable[[], None]])

    def cut(self) -> None:
        """Let nothing arrive any more; what is watched breaks off."""
        self.is_cut = True
        for break_off in self.watched:
            break_off()

    def mend(self) -> None:
        """Let calls arrive again."""
        self.is_cut = False

    def silence(self) -> None:
        """Let nothing come any more of what is watched now; what is watched later is heard."""
        for be_silent in self.silenced:
            be_silent()

    def check(self, text: str) -> None:
        """Raise Unavailable where nothing arrives."""
        if self.is_cut:
            raise Unavailable(f"{text}: no connection: No route to host")


@dataclass(slots=True)
class Routes:
    """The routes of all processes, by the names of these."""

    known: dict[str, Route] = field(default_factory=dict[str, Route])

    def of(self, process: str) -> Route:
        """Return the route of a process; runs of one process share it."""
        return self.known.setdefault(process.partition(".")[0], Route())

    def chosen(self, number: int) -> Route | None:
        """Return one of them; None while there is none."""
        names = sorted(self.known)
        return self.known[names[number % len(names)]] if names else None

    def mend(self) -> None:
        """Let all calls arrive again."""
        for route in self.known.values():
            route.mend()
