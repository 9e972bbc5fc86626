"""People: what they write in one namespace, by the edits of a run, and how they tidy up."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from msgspec import Struct

from hostler.lab.kubernetes.simulated_cluster import Raw

from .edits import FLEETS, Edit, Write
from .objects import PROVIDER, SHELF, SPARE, Objects, Space, is_going

_HOST_LOCK: Mapping[str, str] = {
    "homelab-autoscaler.dev/operation-lock": "shutdown",
    "homelab-autoscaler.dev/lock-owner": "somebody",
    "homelab-autoscaler.dev/lock-timeout": "300",
}
_OF_FLEETS = frozenset(
    {
        Write.MAKE,
        Write.SCALE,
        Write.PAUSE,
        Write.RESUME,
        Write.CHANGE,
        Write.END,
        Write.LEAVE,
    }
)
_OF_HOSTS = frozenset(
    {
        Write.POWER,
        Write.MAINTENANCE,
        Write.LOCK,
        Write.DELETE_HOST,
        Write.MAKE_HOST,
        Write.SPOIL_HOST,
        Write.MEND_HOST,
        Write.NODE,
    }
)
_POWERS = (None, "on", "off")
POLICIES = ("leave", "on", "off")
"""What a deleted Host asks for its box to be."""
_SLIPS: tuple[Raw, ...] = (
    {"shelly": {"url": "plug"}},
    {"shelly": {"user": "admin", "passwordEnv": "nowhere"}},
)
"""What the kind's schema lets pass, and is wrong: no address, and a Secret or key that lacks."""


class Aim(Struct, frozen=True, kw_only=True):
    """What people want in the end: the sizes of fleets, and the Hosts that are to be there.

    Without any fleet there is to be none. `on` are Hosts that are to be on though nobody has them.
    """

    sizes: Mapping[str, int]
    hosts: tuple[str, ...]
    on: tuple[str, ...] = ()


@dataclass(slots=True)
class People:
    """Those who write in one namespace; `begun_anew` are Fleets made only to end their machines."""

    objects: Objects
    space: Space
    begun_anew: set[str] = field(default_factory=set[str])

    def write(self, edit: Edit) -> bool:
        """Write what an edit says, where its object is there; tell if anything was written."""
        if edit.write in _OF_HOSTS:
            return self._write_host(self.space.hosts[edit.who % self.space.boxes], edit)
        if edit.write in _OF_FLEETS:
            return self._write_fleet(FLEETS[edit.who % len(FLEETS)], edit)
        objects, space = self.objects, self.space
        if edit.write in {Write.TAKE_LOGIN, Write.PUT_LOGIN}:
            takes = edit.write is Write.TAKE_LOGIN
            return objects.delete_secret(space) if takes else objects.make_secret(space)
        name = PROVIDER if edit.write in {Write.MAKE_PROVIDER, Write.DELETE_PROVIDER} else SPARE
        if edit.write in {Write.MAKE_PROVIDER, Write.MAKE_SPARE}:
            return objects.make_provider(space, name)
        return objects.delete(space, "providers", name)

    def _write_fleet(self, name: str, edit: Edit) -> bool:
        objects, space = self.objects, self.space
        match edit.write:
            case Write.MAKE:
                return objects.make_fleet(space, name, edit.value)
            case Write.END | Write.LEAVE:
                return objects.delete(space, "fleets", name, edit.write)
            case _:
                return objects.patch(space, "fleets", name, {"spec": _of_fleet(edit)})

    def _write_host(self, name: str, edit: Edit) -> bool:
        objects, space = self.objects, self.space
        match edit.write:
            case Write.DELETE_HOST:
                policy = POLICIES[edit.value % len(POLICIES)]
                return objects.delete(space, "hosts", name, policy)
            case Write.MAKE_HOST:
                return objects.make_host(space, name)
            case Write.MEND_HOST:
                return self._mend(name)
            case _:
                return objects.patch(space, "hosts", name, self._of_host(edit))

    def _of_host(self, edit: Edit) -> Mapping[str, Raw]:
        """Return what an edit merges into a Host."""
        match edit.write:
            case Write.POWER:
                return {"spec": {"desiredPowerState": _POWERS[edit.value % len(_POWERS)]}}
            case Write.MAINTENANCE:
                reason = {"reason": "a fan"} if edit.value % 2 else None
                return {"spec": {"maintenance": reason}}
            case Write.NODE:
                taints = [{"key": SHELF, "value": str(edit.value), "effect": "PreferNoSchedule"}]
                fields = {"labels": {SHELF: str(edit.value)}, "taints": taints}
                return {"spec": fields if edit.value else dict.fromkeys(fields)}
            case Write.SPOIL_HOST:
                return {"spec": {"power": _SLIPS[edit.value % len(_SLIPS)]}}
            case _:
                stamp = f"{self.objects.now():%Y-%m-%dT%H:%M:%SZ}"
                lock = {**_HOST_LOCK, "homelab-autoscaler.dev/lock-timestamp": stamp}
                return {"metadata": {"annotations": lock}}

    def _mend(self, host: str) -> bool:
        """Write how a Host's box is switched as it was at first, though it was deleted."""
        power = self.space.host_spec(host)["power"]
        present = self.objects.of(self.space, "hosts").get(host)
        if present is not None and present["spec"]["power"] != power:
            plug = {"user": None, "passwordEnv": None, **power["shelly"]}
            self.objects.amend(self.space, host, {"power": {**power, "shelly": plug}})
        return present is not None

    # ------------------------------------------------------------ in the end

    def calm(self, aim: Aim) -> None:
        """Write what is aimed at: nothing is wrong, paused or held; called until all is there.

        What is on its way out is let go first, whether its box is on or off. A machine keeps a
        deleted Host, and a Fleet a deleted Provider, so those end before.
        """
        objects, space = self.objects, self.space
        objects.make_secret(space)
        objects.delete(space, "providers", SPARE)
        for name in space.hosts:
            self._mend(name)
            power = "on" if name in aim.on else None
            spec = {"desiredPowerState": power, "maintenance": None}
            objects.patch(space, "hosts", name, {"spec": spec})
        provider = objects.of(space, "providers").get(PROVIDER)
        if provider is not None and is_going(provider):
            self._end_fleets()
            return
        self.begun_anew.clear()
        objects.make_provider(space, PROVIDER)
        going = {name for name, one in objects.of(space, "hosts").items() if is_going(one)}
        leave = bool(going.intersection(aim.hosts))
        for name in aim.hosts:
            objects.make_host(space, name)
            if name in going:
                objects.amend(space, name, {"deletionPolicy": "leave"})
        for name, size in aim.sizes.items():
            objects.make_fleet(space, name, 0 if leave else size)
            spec = {"size": 0 if leave else size, "paused": False}
            objects.patch(space, "fleets", name, {"spec": spec})
        if not aim.sizes:
            self._end_all()

    def _end_all(self) -> None:
        """Delete each Fleet that hostler holds: one that it never saw would leave its machines."""
        for name, one in self.objects.of(self.space, "fleets").items():
            if one["metadata"].get("finalizers"):
                self.objects.delete(self.space, "fleets", name, "end")

    def _end_fleets(self) -> None:
        """Let no Fleet name the Provider that was deleted: one that only left is made anew."""
        for name in FLEETS:
            if name not in self.begun_anew and self.objects.make_fleet(self.space, name, 0):
                self.begun_anew.add(name)
        self._end_all()


def _of_fleet(edit: Edit) -> Raw:
    """Return what an edit merges into the spec of a Fleet."""
    match edit.write:
        case Write.SCALE:
            return {"size": edit.value}
        case Write.PAUSE | Write.RESUME:
            return {"paused": edit.write is Write.PAUSE}
        case _:
            return {"caps": {"perHour": 20 + edit.value}}
