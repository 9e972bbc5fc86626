"""Kind: how the fleet file's tables become a list of static hosts."""

import hashlib
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from hostler.domain.ids import FleetName, Zone
from hostler.domain.model.machine import Offer
from hostler.domain.policy.capacity import unplaced
from hostler.ports.files import unreadable
from hostler.ports.kind import Asked, Blueprint, Lack, Opening, Timing, table_of
from hostler.ports.provider import Provider

from .provider import Site, StaticHosts
from .settings import CONSISTENCY_DELAY, DEADLINE, StaticTable, StaticTemplate, hosts_of
from .shell import HostShell


class StaticKind:
    """Hosts that exist anyway."""

    settings = StaticTable
    template = StaticTemplate

    def blueprint(self, settings: object, template: object, folder: Path) -> Blueprint:
        """Return the groups as offers; the digest is of how a host is cleaned."""
        asked = table_of(StaticTemplate, template)
        del settings, folder
        return Blueprint(
            offers=tuple(Offer(type="host", zone=Zone(g)) for g in dict.fromkeys(asked.groups)),
            digest=hashlib.sha256(asked.release.encode()).hexdigest()[:16],
        )

    def timing(self, settings: object) -> Timing:
        """Return how long a login and its command may take."""
        del settings
        return Timing(deadline=DEADLINE, consistency_delay=CONSISTENCY_DELAY)

    def check(self, settings: object) -> tuple[str, ...]:
        """Return which hosts are in the list twice: by their names, else by their addresses."""
        hosts, names = table_of(StaticTable, settings).hosts, self.host_names(settings)
        places = [f"{host.address}:{host.port}" for host in hosts]
        for what, values in (("name", names), ("address and port", places)):
            if twice := [value for value, count in Counter(values).items() if count > 1]:
                return (f"hosts: expected each {what} once, and {', '.join(twice)} is not",)
        return ()

    def host_names(self, settings: object) -> tuple[str, ...]:
        """Return the name of each host; it is its address where none is given."""
        hosts = table_of(StaticTable, settings).hosts
        return tuple(host.name or host.address for host in hosts)

    def warnings_of(self, settings: object) -> tuple[str, ...]:
        """Return nothing: no list of hosts is hardly meant."""
        del settings
        return ()

    def missing(
        self, settings: object, folder: Path, environment: Mapping[str, str]
    ) -> tuple[Lack, ...]:
        """Return which private keys cannot be read here."""
        del environment
        keys = {host.key: None for host in hosts_of(table_of(StaticTable, settings), folder)}
        return tuple(
            Lack(key="key", text=f"{key} cannot be read: {why}")
            for key in keys
            if key is not None and (why := unreadable(key))
        )

    def check_places(self, settings: object, template: object) -> tuple[str, ...]:
        """Return which groups have no host."""
        table, asked = table_of(StaticTable, settings), table_of(StaticTemplate, template)
        known = {entry.group for entry in table.hosts}
        unknown = [group for group in asked.groups if group not in known]
        there = ", ".join(sorted(known)) or "there is none"
        text = f"groups: expected groups of hosts ({there}); {', '.join(unknown)} has none"
        return (text,) if unknown else ()

    def check_sizes(
        self, settings: object, fleets: Mapping[FleetName, Asked]
    ) -> Mapping[FleetName, str]:
        """Return which fleets ask for more hosts than are left in their groups."""
        groups = Counter(host.group for host in table_of(StaticTable, settings).hosts)
        return {
            fleet: f"at most as many machines as its groups have hosts, and {lacking} are lacking "
            "(a machine that is replaced needs a second host, unless surge = 0)"
            for fleet, lacking in unplaced(
                {
                    name: (table_of(StaticTemplate, asked.template).groups, asked.machines)
                    for name, asked in fleets.items()
                },
                groups,
            ).items()
        }

    def open(self, opening: Opening) -> Provider:
        """Return the hosts; private keys are read when used: a new one needs no restart."""
        table = table_of(StaticTable, opening.settings)
        site = Site(
            hosts=hosts_of(table, opening.folder),
            templates={n: table_of(StaticTemplate, t) for n, t in opening.templates.items()},
            installation=opening.installation,
            patience=table.patience,
        )
        return StaticHosts(site, HostShell(opening.shell), opening.clock)
