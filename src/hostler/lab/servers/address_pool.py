"""An address pool: addresses that somebody keeps for a fleet, in some seeds; and its judge.

Machines take them and give them back; nobody deletes one, and none is taken that is another's.
Whether a seed keeps a pool is thrown for apart, so that every other one draws what it always drew.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from random import Random
from uuid import UUID

import msgspec
from msgspec.structs import replace

from hostler.domain.ids import FleetName, InstallationId, MachineId, ResourceId, Zone
from hostler.domain.model.resource import OwnerTag, Slot
from hostler.lab.scaleway.bystanders import ask
from hostler.lab.scaleway.owner_tags import Owned, owned_by, owned_in, tags_for
from hostler.lab.scenario.faults import STORE_RESTORED, STORE_TWINNED, Disruption, Scenario
from hostler.ports.http import HttpRequest
from hostler.simulators.scaleway.state.records import Address
from hostler.simulators.scaleway.world import World
from hostler.testing.invariants import Found, Thing, Violation

POOL = "kept-for-web"
"""The tag of the addresses that are kept."""

CLAIMED, ATTACHED = "pool_address_claimed", "pool_address_attached"
"""Another system writes its owner tag on a free address; somebody attaches one to a server."""

POOL_FAULTS = (CLAIMED, ATTACHED)

_TAKEN = "hostler-pool="
_SHARE = 0.1
_APART = frozenset({"store_lost", "second_installation", STORE_TWINNED, STORE_RESTORED})
"""With these two stores know of one pool, which the documents rule out."""
_UNSEEN = 120.0
"""What became of an address so lately, in seconds, the newest answers may not show yet."""
_PATH = re.compile(r"/ips/([0-9a-f-]{36})$")
_OTHERS = OwnerTag(
    installation=InstallationId("somebody-else"),
    fleet=FleetName("theirs"),
    machine=MachineId("m-bbbbbbbbbb"),
    attempt=1,
)


def with_address_pool(scenario: Scenario, dice: str) -> Scenario:
    """Return the scenario with a pool of addresses, where the seed is one of those.

    There are enough for the largest size that anybody asks for, and for those that others take.
    """
    rng = Random(f"{dice}: {scenario.seed}")
    if rng.random() >= _SHARE or _APART & {*scenario.faults}:
        return scenario
    many = scenario.machines + 4 + rng.randrange(4)
    struck = () if scenario.severity == "calm" else rng.sample(sorted(POOL_FAULTS), 2)
    found = [Disruption(at=rng.uniform(0.05, 0.9) * scenario.span, fault=one) for one in struck]
    return replace(scenario.befallen(found), address_pool=many)


def recorded_id(address: Address, tag: OwnerTag | None, *, pooled: bool) -> ResourceId:
    """Return the id that a record gives an address: of a pool's, one for each allocation.

    One that is `pooled` for us, and that somebody took all tags from, is still allocated.
    """
    taken = any(one.startswith(_TAKEN) for one in address.tags) or (pooled and not address.tags)
    return ResourceId(f"{address.id}@{tag.machine}" if taken and tag else address.id)


def bare(resource: str) -> str:
    """Return the id under which the provider knows what a record names so."""
    return resource.partition("@")[0]


@dataclass(slots=True)
class _Stands:
    """How an address stands: whose it says that it is, on which server, and since when either."""

    owned: Owned | None
    server: str
    since: float
    tagged: float


@dataclass(slots=True)
class AddressPool:
    """The addresses that are kept in a world, and how each was last seen to stand."""

    world: World
    zones: tuple[Zone, ...] = ()
    many: int = 0
    stands: dict[str, _Stands] = field(default_factory=dict[str, _Stands])
    _theirs: dict[Zone, str] = field(default_factory=dict[Zone, str])

    def stock(self) -> None:
        """Keep as many in each zone as there are to be, beside a server that is another's."""
        for zone in self.zones:
            if zone not in self._theirs:
                self._theirs[zone] = self._server(zone)
            here = [a for a in self._stocked() if a.zone == zone]
            for _ in range(self.many - len(here)):
                body = {"type": "routed_ipv4", "tags": [POOL], **self._project()}
                made = ask(self.world, "POST", f"/instance/v1/zones/{zone}/ips", body)
                if made is not None:
                    now = self.world.cloud.now
                    self.stands[made["ip"]["id"]] = _Stands(None, "", now, now)

    def give_back(self, name: str) -> None:
        """Let a person take an address from whoever has it."""
        for address in self._stocked():
            if address.id == name:
                self._change(address, {"tags": [POOL], "server": None})

    def look(self) -> None:
        """Note how each address stands, and since when."""
        for address in self._stocked():
            owned = owned_by(tuple(address.tags), "", "address")
            server = address.server.id if address.server is not None else ""
            was = self.stands[address.id]
            if (was.owned, was.server) != (owned, server):
                now = self.world.cloud.now
                tagged = was.tagged if was.owned == owned else now
                self.stands[address.id] = _Stands(owned, server, now, tagged)

    def strike(self, fault: str) -> bool:
        """Let another system claim a free address, or somebody use one; tell if there was one."""
        self.look()
        address = self._free()
        if address is None:
            return False
        theirs = (*address.tags, *tags_for(Owned(_OTHERS, Slot("address"))))
        server = self._theirs[Zone(address.zone)]
        body: dict[str, object] = {"tags": theirs} if fault == CLAIMED else {"server": server}
        return self._change(address, body)

    def _free(self) -> Address | None:
        """Return an address that nobody claims or uses, or None."""
        return next((a for a in self._stocked() if not a.tags[1:] and a.server is None), None)

    def mend(self) -> None:
        """Do what only people can: keep as many again, and tag anew what lost its tags by hand.

        Whose machines have all that others left keeps one more: a replacement needs one of its own.
        """
        self.look()
        for address in self._stocked():
            if POOL not in address.tags:
                self._change(address, {"tags": [POOL], "server": None})
        if self.many and self._free() is None:
            self.many += 1
        self.stock()

    def asked(self, request: HttpRequest) -> Found:
        """Check a request about one of the addresses: it is not deleted, nor taken from another."""
        match = _PATH.search(request.path)
        if match is None or match[1] not in self.stands or request.method == "GET":
            return ()
        self.look()
        line, stands = f"{request.method} {request.path}", self.stands[match[1]]
        if request.method == "DELETE":
            return _broken("S5", f"{line}: an address of the pool is never deleted", stands.owned)
        if self._is_young(match[1]):
            return ()
        if stands.server in self._theirs.values():
            return _broken("S5", f"{line}: the address is used by somebody else", stands.owned)
        return self._tagged(request, line, stands)

    def is_claimed_anew(self, thing: Thing) -> bool:
        """Tell whether another system claimed an address so lately that nobody need know of it."""
        tag = thing.owner_tag
        theirs = tag is not None and tag.installation == _OTHERS.installation
        return theirs and self._is_young(bare(thing.id))

    def _is_young(self, address: str) -> bool:
        """Tell whether an address of the pool changed so lately that nobody need know of it."""
        stands = self.stands.get(address)
        return stands is not None and self.world.cloud.now - stands.since < _UNSEEN

    def _tagged(self, request: HttpRequest, line: str, stands: _Stands) -> Found:
        """Check the tags that an address is to have: one machine at a time, and the pool always."""
        asked = msgspec.json.decode(request.body, type=_Asked)
        if asked.tags is None:
            return ()
        after = owned_in(request.body, "address")
        if POOL not in asked.tags:
            return _broken("S5", f"{line}: the address is lost to its pool", stands.owned)
        if after is None or stands.owned is None:
            return ()
        if after.owner_tag.machine != stands.owned.owner_tag.machine:
            text = f"{line}: it is given to {after.owner_tag.machine} as well"
            return _broken("S13", text, stands.owned)
        return ()

    def left(self) -> Found:
        """Return which address was not given back: it is nobody's by its tags, and in use."""
        self.look()
        for address in self._stocked():
            stands = self.stands[address.id]
            free = stands.owned is None and stands.server not in self._theirs.values()
            if free and stands.server:
                text = f"address {address.id} of the pool is still attached, and is no machine's"
                return (Violation(invariant="L1", text=text),)
            if free and any(tag.startswith("hostler") for tag in address.tags):
                text = f"address {address.id} of the pool was not given back whole: {address.tags}"
                return (Violation(invariant="L1", text=text),)
        return ()

    def since(self, address: Address) -> float:
        """Return since when an address is whose it is: one that is not kept, since it was made."""
        stands = self.stands.get(address.id)
        return stands.tagged if stands is not None else address.created

    def _stocked(self) -> Iterable[Address]:
        return [a for a in self.world.cloud.addresses if a.id in self.stands]

    def _change(self, address: Address, body: dict[str, object]) -> bool:
        """Let somebody change an address; tell if it could be done."""
        path = f"/instance/v1/zones/{address.zone}/ips/{address.id}"
        return ask(self.world, "PATCH", path, body) is not None

    def _server(self, zone: Zone) -> str:
        body: dict[str, object] = {
            "name": "theirs",
            "commercial_type": "DEV1-S",
            "volumes": {"0": {"name": "theirs", "size": 10_000_000_000, "volume_type": "l_ssd"}},
            **self._project(),
        }
        made = ask(self.world, "POST", f"/instance/v1/zones/{zone}/servers", body)
        return str(UUID(made["server"]["id"]))

    def _project(self) -> dict[str, object]:
        return {"project": self.world.options.project}


class _Asked(msgspec.Struct, frozen=True):
    """What a request changes of an address; None: it leaves the tags as they are."""

    tags: tuple[str, ...] | None = None


def _broken(invariant: str, text: str, owned: Owned | None) -> Found:
    machine = owned.owner_tag.machine if owned is not None else None
    return (Violation(invariant=invariant, text=text, machine=machine),)
