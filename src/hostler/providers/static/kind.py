"""Kind: how the fleet file's tables become a list of static hosts."""

import hashlib
from collections import Counter
from pathlib import Path

from hostler.domain.ids import Zone
from hostler.domain.model.machine import Offer
from hostler.ports.kind import Blueprint, Opening, table_of
from hostler.ports.provider import Provider

from .provider import Site, StaticHosts
from .settings import StaticTable, StaticTemplate, hosts_of
from .shell import HostShell


class StaticKind:
    """Hosts that exist anyway."""

    settings = StaticTable
    template = StaticTemplate

    def blueprint(self, settings: object, template: object, folder: Path) -> Blueprint:
        """Return the groups as offers; the digest is of how a host is cleaned."""
        table, asked = table_of(StaticTable, settings), table_of(StaticTemplate, template)
        names = Counter(host.name for host in hosts_of(table, folder))
        if twice := [name for name, count in names.items() if count > 1]:
            raise ValueError(f"hosts: expected each name once, and {', '.join(twice)} is not")
        known = {entry.group for entry in table.hosts}
        if unknown := [group for group in asked.groups if group not in known]:
            raise ValueError(
                f"groups: expected groups of hosts ({', '.join(sorted(known))}); "
                f"{', '.join(unknown)} has none"
            )
        return Blueprint(
            offers=tuple(Offer(type="host", zone=Zone(g)) for g in dict.fromkeys(asked.groups)),
            digest=hashlib.sha256(asked.release.encode()).hexdigest()[:16],
        )

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
