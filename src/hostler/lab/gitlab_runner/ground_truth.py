"""Ground truth: what really exists of an instance in the simulated world."""

from collections.abc import Container
from dataclasses import dataclass, field

from hostler.frontends.fleeting.contract import ConnectInfo
from hostler.lab.scaleway.owner_tags import owned_by
from hostler.lab.servers.ground_truth import claim_on
from hostler.simulators.scaleway.api.bodies import allowed_actions as allowed
from hostler.simulators.scaleway.state.records import Server, State
from hostler.simulators.scaleway.world import World

_ENDS = frozenset({"terminate", "poweroff"})


@dataclass(slots=True)
class GroundTruth:
    """Knows each server that ever carried an instance's tag, also once the tag is gone."""

    world: World
    _whose: dict[str, str] = field(default_factory=dict[str, str])
    _addresses: dict[str, int] = field(default_factory=dict[str, int])

    def note(self) -> None:
        """Look at all servers, while their tags are there."""
        for server in self.world.cloud.servers:
            most = max(self._addresses.get(server.id, 0), len(server.addresses))
            self._addresses[server.id] = most
            if server.id not in self._whose:
                claim = claim_on(server)
                if claim is not None:
                    self._whose[server.id] = claim.owner_tag.machine

    def owner(self, thing: str) -> str:
        """Return the instance that a server, or what hangs on one, belongs to; or nothing."""
        cloud = self.world.cloud
        hangs = cloud.addresses.get(thing) or cloud.volumes.get(thing) or cloud.locals.get(thing)
        server = hangs.server.id if hangs is not None and hangs.server is not None else thing
        return self._whose.get(server, "")

    def taken(self, recorded: Container[str]) -> list[Server]:
        """Return the servers that say no longer whose they are, and that no record ever had.

        A person took tags and names away before anybody saw them: only people can remove them.
        """
        return [
            server
            for server in self.world.cloud.servers
            if server.ended is None
            and server.id in self._whose
            and server.id not in recorded
            and claim_on(server) is None
        ]

    def taken_volumes(self, server: Server, recorded: Container[str]) -> list[str]:
        """Return the ids of such a server's volumes that neither a record nor a name explains.

        The others stay for the program to delete, once the server is gone.
        """
        return [
            volume.id
            for volume in server.volumes.values()
            if volume.id not in recorded
            and owned_by(tuple(volume.tags), volume.name, "volume") is None
        ]

    def ever(self, instance: str) -> set[str]:
        """Return the ids of all servers that the instance ever had."""
        return {server for server, owner in self._whose.items() if owner == instance}

    def servers(self, instance: str) -> list[Server]:
        """Return the servers of an instance that exist."""
        return [
            server
            for server in self.world.cloud.servers
            if self._whose.get(server.id) == instance and server.ended is None
        ]

    def up(self, instance: str) -> Server | None:
        """Return the instance's server whose guest answers, if one does."""
        guests = self.world.guests
        for server in self.servers(instance):
            if any(guests.get(address.ip) == server.id for address in server.addresses):
                return server
        return None

    def well(self, instance: str) -> bool:
        """Tell whether its guest answers, and no address of it was taken away."""
        server = self.up(instance)
        return server is not None and len(server.addresses) == self._addresses.get(server.id, 0)

    def deleting(self, instance: str, recorded: Container[str]) -> bool:
        """Tell whether the provider is taking down what is left of it, or nothing is left.

        What only people can remove is not counted.
        """
        taken = {server.id for server in self.taken(recorded)}
        return all(
            server.state == State.STOPPING
            for server in self.servers(instance)
            if server.id not in taken
        )

    def off(self, instance: str, recorded: Container[str]) -> bool:
        """Tell whether all that stands of it is off, and is known to be its own."""
        taken = {server.id for server in self.taken(recorded)}
        servers = self.servers(instance)
        off = all(one.state == State.STOPPED and one.id not in taken for one in servers)
        return bool(servers) and off

    def reaches(self, instance: str, info: ConnectInfo) -> str:
        """Return what a connection to the address that was told comes to; empty: the instance."""
        server = self.world.guests.get(info.external)
        if server is None:
            return "nobody answers"
        return "" if self._whose.get(server) == instance else "somebody else answers"

    def starting(self, instance: str) -> bool:
        """Tell whether all that stands of it is on its way up: then it cannot be deleted."""
        return all(server.state == State.STARTING for server in self.servers(instance))

    def barred(self, instance: str) -> bool:
        """Tell whether the provider lets nobody delete what stands of it."""
        return any(
            server.protected or not (server.state == State.STOPPED or _ENDS & {*allowed(server)})
            for server in self.servers(instance)
        )
