"""What an endpoint is: a name for scripts, a method, a path, and who answers."""

from collections.abc import Callable
from dataclasses import dataclass

from hostler.simulators.scaleway.state.calls import Answer, Call
from hostler.simulators.scaleway.state.inventory import Estate

Handler = Callable[[Estate, Call], Answer]


@dataclass(frozen=True, slots=True)
class Route:
    """One endpoint. In `path` a `*` stands for an argument; a public one needs no key."""

    key: str
    method: str
    path: str
    handler: Handler
    public: bool = False
