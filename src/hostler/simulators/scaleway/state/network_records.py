"""What exists of private networks: VPCs, networks with two subnets each, and their addresses."""

from dataclasses import dataclass, field
from ipaddress import IPv4Network, IPv6Network

from .record import Record


@dataclass(slots=True, eq=False, kw_only=True)
class Vpc(Record):
    """A VPC; its zone is a region. Every project has a default one in each, when first needed."""

    default: bool = False
    routing: bool = True
    custom_routes: bool = False
    transitive: bool = False
    rules: dict[bool, tuple[str, list[dict[str, object]]]] = field(
        default_factory=dict[bool, tuple[str, list[dict[str, object]]]]
    )


@dataclass(slots=True, eq=False, kw_only=True)
class PrivateNetwork(Record):
    """A private network; its zone is a region. `subnets` are the ids of both, IPv4 first."""

    vpc: Vpc
    net4: IPv4Network
    net6: IPv6Network
    subnets: tuple[str, str]
    default_route: bool = False
    dhcp: bool = True
    used: set[str] = field(default_factory=set[str])
    turn: int = 1


@dataclass(slots=True, eq=False, kw_only=True)
class Holder:
    """What has a private address: its type in the words of IPAM, and what it is called."""

    kind: str
    id: str
    mac: str | None
    name: str | None = None
    of: Record | None = None

    def body(self) -> dict[str, object]:
        """Return how IPAM shows it."""
        name = self.of.name if self.of else self.name
        return {"type": self.kind, "id": self.id, "mac_address": self.mac, "name": name}


@dataclass(slots=True, eq=False, kw_only=True)
class PrivateIp(Record):
    """An address in a private network; its zone is a region. A booked one outlives its holder."""

    network: PrivateNetwork
    address: str  # without the length of its prefix
    six: bool
    booked: bool = False
    holder: Holder | None = None
    reverses: list[dict[str, object]] = field(default_factory=list[dict[str, object]])

    @property
    def prefixed(self) -> str:
        """The address with the length of its subnet's prefix."""
        net = self.network.net6 if self.six else self.network.net4
        return f"{self.address}/{net.prefixlen}"


@dataclass(slots=True, eq=False, kw_only=True)
class Plain(Record):
    """A resource that is what was said of it, and does nothing; `fields` is that part of it."""

    fields: dict[str, object] = field(default_factory=dict[str, object])
