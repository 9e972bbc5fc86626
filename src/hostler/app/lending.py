"""Lending: for which logins an engine of objects tries the private keys of its own computer.

What its agent and `~/.ssh` offer opens more than one rack. Whoever writes the fleet file has the
computer anyway; whoever writes objects of a cluster need not.
"""

from collections.abc import Collection
from pathlib import Path

from msgspec import Struct

from hostler.config.decode import Raw, table
from hostler.config.source import read_toml
from hostler.domain.model.fleet import Fleet


class Own(Struct, frozen=True, kw_only=True):
    """The names of the accounts and of the fleets that stand in the file beside objects."""

    accounts: Collection[str] = ()
    fleets: Collection[str] = ()

    def has(self, fleet: Fleet) -> bool:
        """Tell whether a fleet and its account are of the file.

        An object has a say in where a login leads, and what is run there, by either of the two.
        """
        return fleet.name in self.fleets and fleet.account in self.accounts


def own_of(file: Path | None) -> Own:
    """Return what stands in a file; nothing without one. ConfigError where it cannot be read."""
    return own_in(read_toml(file) if file is not None else {})


def own_in(raw: Raw) -> Own:
    """Return what stands in the tables of a file."""
    accounts, fleets = (table(raw.get(name, {})) for name in ("provider", "fleet"))
    return Own(accounts=frozenset(accounts), fleets=frozenset(fleets))
