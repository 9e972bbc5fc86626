"""Wire: the fields that we read of the API's bodies, and reading that survives hostile JSON.

Every field but the id may be missing or null. Sources: the shapes of Instance v1, Block v1 and
Marketplace v2 as they are recorded in public clients' tests.
"""

from typing import Generic, TypeVar

import msgspec
from msgspec import Struct

T = TypeVar("T")


class Unreadable(Exception):
    """A body that is not what the API promises; a sentence says what is wrong with it."""


class Ref(msgspec.Struct, frozen=True, gc=False):
    """Something named by its id alone."""

    id: str
    name: str | None = None


class PublicIp(msgspec.Struct, frozen=True, gc=False):
    """An address as its server's body shows it."""

    id: str | None = None
    address: str | None = None
    family: str | None = None
    state: str | None = None
    tags: list[str] | None = None


class Nic(msgspec.Struct, frozen=True, gc=False):
    """A card in a private network."""

    private_network_id: str | None = None
    id: str | None = None
    state: str | None = None


class ServerVolume(msgspec.Struct, frozen=True, gc=False):
    """A volume as its server's body shows it; block volumes lack size, name and tags."""

    id: str | None = None
    volume_type: str | None = None
    name: str | None = None
    size: int | None = None
    state: str | None = None
    tags: list[str] | None = None


class Server(msgspec.Struct, frozen=True, gc=False):
    """A server of Instance v1."""

    id: str
    name: str | None = None
    state: str | None = None
    commercial_type: str | None = None
    project: str | None = None
    tags: list[str] | None = None
    allowed_actions: list[str] | None = None
    public_ips: list[PublicIp] | None = None
    private_ip: str | None = None
    private_nics: list[Nic] | None = None
    volumes: dict[str, ServerVolume] | None = None
    creation_date: str | None = None
    protected: bool | None = None
    arch: str | None = None
    security_group: Ref | None = None


class Ip(msgspec.Struct, frozen=True, gc=False):
    """A flexible address of Instance v1; an IPv6 one has a prefix and no address of its own."""

    id: str
    address: str | None = None
    prefix: str | None = None
    type: str | None = None
    state: str | None = None
    server: Ref | None = None
    project: str | None = None
    tags: list[str] | None = None


class Volume(msgspec.Struct, frozen=True, gc=False):
    """A local volume (l_ssd, scratch) of Instance v1."""

    id: str
    name: str | None = None
    volume_type: str | None = None
    size: int | None = None
    state: str | None = None
    server: Ref | None = None
    project: str | None = None
    tags: list[str] | None = None
    creation_date: str | None = None


class Reference(msgspec.Struct, frozen=True, gc=False):
    """What a block volume is attached to."""

    product_resource_type: str | None = None
    product_resource_id: str | None = None
    status: str | None = None


class Specs(msgspec.Struct, frozen=True, gc=False):
    """How fast a block volume is."""

    perf_iops: int | None = None


class BlockVolume(msgspec.Struct, frozen=True, gc=False):
    """A volume of Block v1."""

    id: str
    name: str | None = None
    type: str | None = None
    size: int | None = None
    status: str | None = None
    project_id: str | None = None
    tags: list[str] | None = None
    references: list[Reference] | None = None
    specs: Specs | None = None
    created_at: str | None = None


class LocalImage(msgspec.Struct, frozen=True, gc=False):
    """An image of the marketplace in one zone."""

    id: str
    arch: str | None = None
    label: str | None = None
    type: str | None = None
    compatible_commercial_types: list[str] | None = None


class Image(msgspec.Struct, frozen=True, gc=False):
    """An image of Instance v1."""

    id: str
    name: str | None = None
    arch: str | None = None
    state: str | None = None


class PrivateIp(msgspec.Struct, frozen=True, gc=False):
    """An address of IPAM with its prefix length (`10.0.0.5/22`), and the card that has it."""

    id: str
    address: str | None = None
    resource: Ref | None = None


class SshKey(msgspec.Struct, frozen=True, gc=False):
    """A public key of IAM."""

    id: str
    name: str | None = None
    public_key: str | None = None
    fingerprint: str | None = None
    disabled: bool | None = None


class Limit(msgspec.Struct, frozen=True, gc=False):
    """How many there may be in one place."""

    limit: int | None = None
    unlimited: bool | None = None
    zone: str | None = None


class Quotum(msgspec.Struct, frozen=True, gc=False, rename={"id": "name"}):
    """How many of something an organisation may have; its name stands for its id."""

    id: str
    limit: int | None = None
    unlimited: bool | None = None
    limits: list[Limit] | None = None


class ServerType(msgspec.Struct, frozen=True, gc=False):
    """What a type of server costs (euros per hour) and is."""

    hourly_price: float | None = None
    arch: str | None = None


class Stock(msgspec.Struct, frozen=True, gc=False):
    """Whether a type can be had: `available`, `scarce` or `shortage`."""

    availability: str | None = None


class Items(Struct, Generic[T], frozen=True):
    """One page of a listing: what could be read, how many entries could not, and the total."""

    items: list[T]
    unreadable: int = 0
    total: int | None = None

    @property
    def length(self) -> int:
        """How many entries the page had."""
        return len(self.items) + self.unreadable


_ENVELOPE = msgspec.json.Decoder(dict[str, msgspec.Raw])
_RAW_LIST = msgspec.json.Decoder(list[msgspec.Raw])
_TOTAL = msgspec.json.Decoder(int)


class Shape(Generic[T]):
    """How to read objects of one type: alone under a key, or as a list or map under another."""

    def __init__(self, one: type[T], key: str, keys: str) -> None:
        self._key, self._keys = key, keys
        self._one = msgspec.json.Decoder(one)
        self._list = msgspec.json.Decoder(list[one])
        self._map = msgspec.json.Decoder(dict[str, one])

    def bare(self, body: bytes) -> T:
        """Return the object that is the whole body; raise Unreadable."""
        return _read(self._one, body)

    def single(self, body: bytes) -> T:
        """Return the object under its key; raise Unreadable."""
        return _read(self._one, _under(body, self._key)[0])

    def page(self, body: bytes) -> Items[T]:
        """Return one page of a listing; raise Unreadable where it is none at all.

        An entry that is not what it should be is counted, and costs the others nothing.
        """
        raw, total = _under(body, self._keys)
        try:
            return Items(self._list.decode(raw), 0, total)
        except msgspec.DecodeError:
            return self._one_by_one(_read(_RAW_LIST, raw), total)

    def _one_by_one(self, raws: list[msgspec.Raw], total: int | None) -> Items[T]:
        items = list[T]()
        for raw in raws:
            try:
                items.append(self._one.decode(raw))
            except msgspec.DecodeError:
                continue
        return Items(items, len(raws) - len(items), total)

    def mapping(self, body: bytes) -> dict[str, T]:
        """Return one page of a listing that is a map from names; raise Unreadable."""
        return _read(self._map, _under(body, self._keys)[0])


def _read(decoder: msgspec.json.Decoder[T], body: bytes | msgspec.Raw) -> T:
    try:
        return decoder.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise Unreadable(f"the answer is not what the API promises: {error}") from None


def _under(body: bytes, key: str) -> tuple[msgspec.Raw, int | None]:
    envelope = _read(_ENVELOPE, body)
    if key not in envelope:
        raise Unreadable(f"the answer has no {key!r}")
    raw = envelope.get("total_count")
    try:
        return envelope[key], _TOTAL.decode(raw) if raw is not None else None
    except msgspec.DecodeError:
        return envelope[key], None


SERVERS = Shape(Server, "server", "servers")
ADDRESSES = Shape(Ip, "ip", "ips")
VOLUMES = Shape(Volume, "volume", "volumes")
BLOCKS = Shape(BlockVolume, "volume", "volumes")
NICS = Shape(Nic, "private_nic", "private_nics")
LOCAL_IMAGES = Shape(LocalImage, "local_image", "local_images")
IMAGES = Shape(Image, "image", "images")
TYPES = Shape(ServerType, "server", "servers")
PRIVATE_IPS = Shape(PrivateIp, "ip", "ips")
QUOTA = Shape(Quotum, "quotum", "quota")
SSH_KEYS = Shape(SshKey, "ssh_key", "ssh_keys")
STOCKS = Shape(Stock, "server", "servers")
