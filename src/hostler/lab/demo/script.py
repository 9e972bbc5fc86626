"""Script: the troubles that surely occur in a demo, besides those that are drawn."""

from collections.abc import Callable
from dataclasses import dataclass

from msgspec.structs import replace

from hostler.simulators.scaleway.faults.rates import CALM, LIVELY, Rule
from hostler.simulators.scaleway.world import World

RULES: tuple[tuple[str, Rule], ...] = (
    (
        "the answer to the first server's creation will be lost, after its effect",
        Rule(fault="reply_lost", route="server.create", after=1),
    ),
    (
        "the second server's start will fall back to stopped",
        Rule(fault="start_falls_back", route="server.action.poweron", after=2),
    ),
    (
        "the fourth server will find its type out of stock",
        Rule(fault="out_of_stock_create", route="server.create", after=4),
    ),
    (
        "one server will be locked when it is switched on",
        Rule(fault="locked_423", route="server.action.poweron", after=4, spell=8.0),
    ),
)
BY_HAND = "server_deleted_by_hand"

SCRIPTED = (*(rule.fault for _, rule in RULES), BY_HAND)
"""The faults that every demo meets."""

Announce = Callable[[str], None]


@dataclass(slots=True)
class Script:
    """Lets troubles happen to a world as a demo goes on."""

    world: World
    announce: Announce
    lively: bool = False
    deleted: bool = False
    insisted: bool = False
    calm: bool = False

    def begin(self) -> None:
        """Script what strikes while the fleet is made."""
        for words, rule in RULES:
            self.world.script(rule)
            self.announce(words)

    def missed(self) -> tuple[Rule, ...]:
        """Return the scripted troubles that have not struck yet."""
        return tuple(rule for _, rule in RULES if not self.world.faults.get(rule.fault))

    def rouse(self) -> None:
        """Let many faults strike."""
        if not self.lively:
            self.lively = True
            self.world.set_fault_rates(LIVELY)
            self.announce("faults begin: anything may happen now")

    def insist(self) -> None:
        """Script once more what has not struck: the next request that it fits meets it."""
        if not self.insisted:
            self.insisted = True
            for rule in self.missed():
                self.world.script(replace(rule, after=1))

    def delete_one(self) -> None:
        """Delete a server that is up, as a person would in the console; once."""
        server = next(iter(self.world.guests.values()), None)
        if not self.deleted and server is not None and self.world.act(BY_HAND, server):
            self.deleted = True
            self.announce(f"somebody deletes the server {server} by hand")

    def clear(self) -> None:
        """Let them cease; scripted troubles that did not strike yet still will."""
        if not self.calm:
            self.calm = True
            self.world.set_fault_rates(CALM)
            self.announce("faults cease: what is broken now is healed, and nothing new breaks")
