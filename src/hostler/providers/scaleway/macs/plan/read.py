"""Read: what the API shows of a Mac, as the resources that a host and its allocation are. Pure."""

import hashlib
from collections.abc import Mapping
from urllib.parse import unquote, urlsplit

from msgspec import Struct, field

from hostler.domain.ids import FleetName, HostId, InstallationId, MachineId, ResourceId, Zone
from hostler.domain.model.host import HOST, TENANT, allocation_of
from hostler.domain.model.resource import Condition, HostFacts, OwnerTag, Resource, Slot, Stage
from hostler.providers.scaleway.instances.observe.read import moment
from hostler.providers.scaleway.macs.api.images import family_key
from hostler.providers.scaleway.macs.api.networks import Attached, inside, is_wired
from hostler.providers.scaleway.macs.api.wire import Commitment, Mac

from .names import Name, name_of, pool_of
from .statuses import allocation_condition, condition

SERVER = Slot("server")
SEALED = "<sealed>"
UPDATE = "update"
"""What the API lets be asked of a Mac in every status, whatever it means, unless it is locked."""

DEFAULT_NAME = "apple-silicon-"
"""How the provider's own names for new Macs begin."""


class MacReader(Struct, frozen=True):
    """Reads the Macs of one zone. `default` is the pool of claims whose own is not known.

    `attached` is which networks each Mac is in, None where that is not known; `networks` is which
    of them each fleet wants.
    """

    zone: Zone
    installation: InstallationId
    ours: frozenset[InstallationId]
    pools: tuple[str, ...] = ()
    default: str = ""
    prices: Mapping[str, float] = field(default_factory=dict[str, float])
    attached: Mapping[str, tuple[Attached, ...]] | None = field(
        default_factory=dict[str, tuple[Attached, ...]]
    )
    networks: Mapping[FleetName, tuple[str, ...]] = field(
        default_factory=dict[FleetName, tuple[str, ...]]
    )

    def within(self, mac: Mac) -> tuple[Attached, ...] | None:
        """Return which networks a Mac is in; None where that is not known."""
        return None if self.attached is None else self.attached.get(mac.id, ())

    def host(self, mac: Mac) -> Resource:
        """Return the Mac itself as a resource; its facts say whose it is: it has no owner tag."""
        name, status = name_of(mac.name or ""), mac.status or ""
        return Resource(
            id=ResourceId(mac.id),
            slot=HOST,
            zone=self.zone,
            status=status,
            condition=condition(status),
            created=moment(mac.created_at),
            price=self.prices.get(mac.type or "", 0.0),
            name=mac.name or "",
            address=mac.ip or "",
            type=mac.type or "",
            host=self._facts(mac, name),
            notes=self._notes(mac),
        )

    def allocation_of(self, mac: Mac) -> Resource | None:
        """Return the allocation that a Mac's name tells, or None where it tells none."""
        name = name_of(mac.name or "")
        if name is None or name.stage not in TENANT:
            return None
        owner_tag = OwnerTag(
            installation=name.installation, fleet=name.fleet, machine=name.machine, attempt=0
        )
        stands = allocation_condition(name.stage, mac.status or "")
        wanted, attached = self.networks.get(name.fleet, ()), self.within(mac) or ()
        if stands is Condition.UP and not is_wired(wanted, attached):
            stands = Condition.STARTING
        return self._resource(mac, name.machine, owner_tag, stands)

    def renamed(self, mac: Mac, machine: MachineId) -> Resource | None:
        """Return the allocation that only a record tells of: somebody renamed the host.

        One whose allocation is over by its name is none.
        """
        name = name_of(mac.name or "")
        if name is not None and name.machine == machine:
            return self.allocation_of(mac)
        return self._resource(mac, machine, None, allocation_condition(None, mac.status or ""))

    def _resource(
        self, mac: Mac, machine: MachineId, owner_tag: OwnerTag | None, stands: Condition
    ) -> Resource:
        return Resource(
            id=allocation_of(HostId(mac.id), machine),
            slot=SERVER,
            zone=self.zone,
            owner_tag=owner_tag,
            status=mac.status or "",
            condition=stands,
            allowed=() if stands is Condition.LOCKED else (UPDATE,),
            created=moment(mac.created_at),
            price=self.prices.get(mac.type or "", 0.0),
            name=mac.name or "",
            address=mac.ip or "",
            type=mac.type or "",
            host=self._facts(mac, name_of(mac.name or "")),
            notes=self._notes(mac),
        )

    def _facts(self, mac: Mac, name: Name | None) -> HostFacts:
        pending = name is not None and name.stage is Stage.PENDING
        return HostFacts(
            stage=self._stage(mac.name or "", name),
            tagged=name.stage if name else Stage.NONE,
            holder=name.machine if name else None,
            fleet=name.fleet if name else None,
            installation=name.installation if name else None,
            pool=self._pool(mac.name or "", name),
            image=family_key(mac.os.family or mac.os.name or "") if mac.os else "",
            delivered=bool(mac.delivered),
            scheduled=bool(mac.deletion_scheduled),
            paid_until=moment(mac.deletable_at),
            updated=moment(mac.updated_at) if pending else None,
            renews=_renews(mac.commitment),
            witness=self._witness(mac),
        )

    def _notes(self, mac: Mac) -> tuple[tuple[str, str], ...]:
        known = self.within(mac)
        attached = known or ()
        notes = (
            ("networks", "" if mac.vpc_status in {None, "vpc_disabled"} else mac.vpc_status or ""),
            ("nics", inside(attached)),
            ("unlisted", self._unlisted(mac, attached)),
            ("leaving", "yes" if known is None or any(one.leaves for one in known) else ""),
            ("user", mac.ssh_username or ""),
        )
        return tuple((key, value) for key, value in notes if value)

    def _unlisted(self, mac: Mac, attached: tuple[Attached, ...]) -> str:
        """Return the networks that tenants ask for and a host is not shown in, though it may be."""
        if mac.vpc_status in {None, "vpc_disabled"}:
            return ""
        wanted = {network for networks in self.networks.values() for network in networks}
        return ",".join(sorted(wanted - {one.network for one in attached}))

    def _stage(self, text: str, name: Name | None) -> Stage:
        """Return the stage of a name of ours, or that it is foreign, a pool's, or nobody's."""
        if name is not None:
            return name.stage if name.installation in self.ours else Stage.FOREIGN
        if text.startswith("hostler."):
            return Stage.FOREIGN
        if any(text.startswith(prefix) for prefix in self.pools):
            return Stage.POOL
        return Stage.UNNAMED if text.startswith(DEFAULT_NAME) else Stage.OTHER

    def _pool(self, text: str, name: Name | None) -> str:
        if name is not None:
            return pool_of(name.pool, self.pools) or self.default
        return max((p for p in self.pools if text.startswith(p)), key=len, default=self.default)

    def _witness(self, mac: Mac) -> str:
        """Return a digest of the password, which a wipe changes; empty while it is sealed."""
        secret = password(mac)
        if not secret:
            return ""
        key = hashlib.sha256(f"{self.installation} {mac.id}".encode()).digest()
        return hashlib.blake2s(secret.encode(), key=key, digest_size=8).hexdigest()


def password(mac: Mac) -> str:
    """Return the password of the host's user, or an empty string: one that is sealed is none.

    The answer to an order shows it; later it stands, percent-encoded, in the VNC address.
    """
    plain = mac.sudo_password or ""
    if plain and plain != SEALED:
        return plain
    try:
        secret = unquote(urlsplit(mac.vnc_url or "").password or "")
    except ValueError:
        return ""
    return "" if secret == SEALED else secret


def _renews(commitment: Commitment | None) -> bool:
    """Tell whether another month is going to be paid unless somebody cancels it."""
    if commitment is None or commitment.type != "renewed_monthly":
        return False
    return not commitment.cancelled
