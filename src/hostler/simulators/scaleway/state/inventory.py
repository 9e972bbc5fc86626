"""All that exists at one moment: the resources, the clock, the dice, and how things are made."""

from datetime import timedelta
from random import Random
from typing import TypedDict, TypeVar

from .calls import Call
from .catalogue import ARCHS, LOCAL_IMAGE_TYPES, PUBLIC_IMAGES, image_id, types_of
from .errors import not_found
from .ledger import Ledger
from .mac_catalogue import published
from .mac_records import Attachment, Diagnostic, Mac, OsImage, Runner
from .network_records import Plain, PrivateIp, PrivateNetwork, Vpc
from .networks import Networks
from .options import Options
from .record import Owner, Record
from .records import (
    Address,
    BlockVolume,
    Image,
    LocalVolume,
    Nic,
    PlacementGroup,
    SecurityGroup,
    Server,
    Snapshot,
    SshKey,
)
from .stock import Shelf
from .timeline import TRANSITIONS, Effect, Timeline

R = TypeVar("R", bound=Record)
NOWHERE = "00000000-0000-0000-0000-000000000000"
"""The id that names no network; every other one does, unless its network was deleted."""
SCALEWAY = "51b656e3-4865-41e8-adbc-0c45bdd780db"  # who owns the public images


class Born(TypedDict):
    """The fields that every new record has, beside its name."""

    id: str
    zone: str
    organization: str
    project: str
    created: float
    modified: float


class Cloud:
    """What the handlers work on. Dice: `rng` makes ids, `dice` draws durations and choices."""

    def __init__(self, options: Options, rng: Random, now: float) -> None:
        self.options = options
        self.rng = rng
        self.dice = Random(rng.getrandbits(64))
        self.timeline = Timeline(now)
        self.ledger = Ledger(options.journal)
        self.networks = Networks(guests=options.guests)
        self.stock: dict[str, str] = dict(options.stock)
        self.servers: Shelf[Server] = Shelf()
        self.addresses: Shelf[Address] = Shelf()
        self.volumes: Shelf[BlockVolume] = Shelf()
        self.locals: Shelf[LocalVolume] = Shelf()
        self.nics: Shelf[Nic] = Shelf()
        self.groups: Shelf[SecurityGroup] = Shelf()
        self.placements: Shelf[PlacementGroup] = Shelf()
        self.images: Shelf[Image] = Shelf()
        self.snapshots: Shelf[Snapshot] = Shelf()
        self.block_snapshots: Shelf[Snapshot] = Shelf()
        self.keys: Shelf[SshKey] = Shelf()
        self.macs: Shelf[Mac] = Shelf()
        self.mac_at: dict[str, Mac] = {}  # by address
        self.deleted_macs: set[str] = set()
        self.deleted_runners: set[str] = set()
        self.pool_prefixes: list[str] = []
        self.vpcs: Shelf[Vpc] = Shelf()
        self.private_networks: Shelf[PrivateNetwork] = Shelf()
        self.deleted_networks: set[str] = {NOWHERE}
        self.private_ips: Shelf[PrivateIp] = Shelf()
        self.plain: dict[str, Shelf[Plain]] = {}  # by their sort
        self.os_images: Shelf[OsImage] = Shelf()
        self.attachments: Shelf[Attachment] = Shelf()
        self.runners: Shelf[Runner] = Shelf()
        self.diagnostics: Shelf[Diagnostic] = Shelf()
        self.guests: dict[str, str] = {}  # address → id of the server whose guest is up
        self.guests_changed = 0
        self.newborn: list[
            Server | Address | Mac
        ] = []  # for fault injection, which draws what happens to them
        self.stuck: dict[str, Effect] = {}  # server → what lets it go on
        self.spell_ends: dict[str, Effect] = {}  # server or Mac → what ends its protection or lock
        self._counts: dict[tuple[str, str], int] = {}
        for image in published(now):
            self.os_images.put(image)
        for zone in options.zones:
            self._stock_images(zone)

    @property
    def now(self) -> float:
        """The present, in seconds of the world's clock."""
        return self.timeline.now

    def new_id(self) -> str:
        """Draw a UUID."""
        return uuid_of(self.rng)

    def born(self, owner: Owner) -> Born:
        """Return what a resource that is made now begins with; its id is drawn here."""
        return Born(
            id=self.new_id(),
            zone=owner.zone,
            organization=owner.organization,
            project=owner.project,
            created=self.now,
            modified=self.now,
        )

    def generation(self) -> str:
        """Return which bodies the next refusal has."""
        chosen = self.options.generation
        return self.dice.choice(("2026", "2025")) if chosen == "mixed" else chosen

    def lasts(self, transition: str) -> float:
        """Draw how long a transition takes."""
        return TRANSITIONS[transition].draw(self.dice) * self.options.pace

    def after(self, seconds: float, effect: Effect) -> None:
        """Plan an effect."""
        self.timeline.after(seconds, effect)

    def listed_from(self) -> float:
        """Draw from when on a new resource is shown in lists."""
        lag = self.options.list_lag
        return self.now + self.dice.uniform(0.0, lag) if lag else self.now

    def date(self, moment: float) -> str:
        """Return a moment as the Instance API writes it."""
        span = timedelta(seconds=moment / self.options.date_pace)
        return (self.options.epoch + span).isoformat(timespec="microseconds")

    def zulu(self, moment: float) -> str:
        """Return a moment as the newer APIs write it."""
        return self.date(moment).replace("+00:00", "Z")

    def availability(self, zone: str, name: str) -> str:
        """Return how much of a type a zone has."""
        stock = self.stock
        found = stock.get(f"{zone}/{name}") or stock.get(name)
        return found or types_of(zone)[name].availability

    def count(self, organization: str, key: str, change: int = 0) -> int:
        """Return how many of a quota's things an organisation has, after a change of that."""
        total = self._counts.get((organization, key), 0) + change
        self._counts[organization, key] = total
        return total

    def find(self, shelf: Shelf[R], call: Call, item_id: str, resource: str) -> R:
        """Return what a call names, if it is of the call's zone and organisation; else refuse."""
        item = self.peek(shelf, call, item_id)
        if item is None:
            raise not_found(resource, item_id)
        return item

    def peek(self, shelf: Shelf[R], call: Call, item_id: str) -> R | None:
        """Return what a call names, or None."""
        item = shelf.get(item_id)
        if item is None or item.zone != call.place:
            return None
        return item if item.organization in (call.organization, SCALEWAY) else None

    def server(self, call: Call, server_id: str = "") -> Server:
        """Return the server that a call names first in its path, or by an id in its body."""
        return self.find(self.servers, call, server_id or call.names[0], "instance_server")

    def _stock_images(self, zone: str) -> None:
        for public in PUBLIC_IMAGES:
            for arch in ARCHS:
                for kind in LOCAL_IMAGE_TYPES:
                    self.images.put(self._public_image(zone, public.label, public.name, arch, kind))

    def _public_image(self, zone: str, label: str, name: str, arch: str, kind: str) -> Image:
        sbs = kind == "instance_sbs"
        return Image(
            id=image_id(zone, label, arch, kind),
            zone=zone,
            name=name,
            organization=SCALEWAY,
            project=SCALEWAY,
            created=self.now,
            modified=self.now,
            arch=arch,
            label=label,
            root_id=image_id(zone, label, arch, kind + "/root"),
            root_type="sbs_snapshot" if sbs else "l_ssd",
            root_size=0 if sbs else 10_000_000_000,
        )


def touch(cloud: Cloud, server: Server) -> None:
    """Note that a server itself has changed."""
    server.modified = cloud.now
    server.wire = None


def uuid_of(rng: Random) -> str:
    """Draw a UUID of version 4."""
    text = f"{rng.getrandbits(128):032x}"
    variant = "89ab"[int(text[16], 16) & 3]
    return f"{text[:8]}-{text[8:12]}-4{text[13:16]}-{variant}{text[17:20]}-{text[20:]}"
