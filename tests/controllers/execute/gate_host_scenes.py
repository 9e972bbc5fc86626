"""Gate scenes of hosts that no machine holds: what goes wrong after a wipe or an end was decided.

All of them are deletions to the gate: what somebody asked for when he gave the host to us.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

from hosts_kit import OWNER_TAG, WIPE, Site
from msgspec.structs import replace

from hostler.domain.model.calls import Call
from hostler.domain.model.fleet import FleetRow
from hostler.domain.model.host import Host, HostCondition, HostGoal, ReleasePolicy
from hostler.domain.model.machine import Protection
from hostler.domain.model.snapshot import Request, RequestKind
from hostler.testing.scenes.builders import BEGIN, FLEET, MIN, WEB, S
from hostler.testing.scenes.hosts import box, inventory, record

A_DAY = timedelta(days=1)
END = replace(OWNER_TAG, kind="end", ends_payment=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class HostStage:
    """A host of a fleet that is about to be wiped, or given up."""

    call: Call
    stage: str
    host: Host

    async def opened(self, paid_until: datetime | None = None) -> Site:
        """Return the site just before the cycle that decides on it."""
        site = await Site.opened(self.host, box(self.stage, paid_until=paid_until))
        site.provider.calls = (self.call,)
        return site


STAGES = {
    "wipe": HostStage(
        call=WIPE,
        stage="wiping",
        host=record(condition=HostCondition.DIRTY, goal=HostGoal.CLEAN, fleet=WEB),
    ),
    "end": HostStage(
        call=END,
        stage="retiring",
        host=record(
            condition=HostCondition.RETIRING,
            goal=HostGoal.RETIRED,
            fleet=WEB,
            policy=ReleasePolicy.TERMINATE,
        ),
    ),
}


def as_it_is(site: Site) -> None:
    """Spoil nothing."""
    del site


def renamed(site: Site) -> None:
    """Somebody else gave the host a name that is not ours."""
    site.state.inventory = inventory([box("foreign")], site.rig.clock.now())


def unseen(site: Site) -> None:
    """The host was last seen minutes ago."""
    resources = (sighting.resource for sighting in site.state.inventory.sightings.values())
    site.state.inventory = inventory(resources, site.rig.clock.now() - 5 * MIN)


def pause_requested(site: Site) -> None:
    """Somebody asks for a pause of the fleet, which no cycle has taken up yet."""
    asked = Request(number=1, kind=RequestKind.PAUSE, fleet=WEB, at=BEGIN, actor="ann")
    site.state.requests = (asked,)


def paused(site: Site) -> None:
    """The fleet's own cycle took up a pause."""
    until = site.rig.clock.now() + A_DAY
    pause = Protection(until=until, actor="ann", why="an audit")
    site.state.rows[WEB] = FleetRow(name=WEB, created=BEGIN, pause=pause)


def protected(site: Site) -> None:
    """The fleet is protected by now."""
    fleets = (replace(FLEET, protected=True),)
    site.state.account = replace(site.state.account, fleets=fleets)


def long_wait(site: Site) -> None:
    """The budget is frozen until the lease, which nobody renews here, ends soon."""
    site.budget.refused(45 * S)


@dataclass(frozen=True, slots=True, kw_only=True)
class HostScene:
    """The check that alone sees what goes wrong, and what that is."""

    check: str
    words: str
    spoil: Callable[[Site], None] = as_it_is
    stages: tuple[str, ...] = ("wipe", "end")
    paid: bool = False


SCENES = {
    "renamed": HostScene(
        check="G1", words="the host bears a name that is not ours by now", spoil=renamed
    ),
    "unseen": HostScene(check="G2", words="the host was last seen minutes ago", spoil=unseen),
    "pause-requested": HostScene(
        check="G5", words="somebody asks for a pause of the fleet", spoil=pause_requested
    ),
    "paused": HostScene(check="G5", words="the fleet is paused by now", spoil=paused),
    "protected": HostScene(check="G5", words="the fleet is protected by now", spoil=protected),
    "long-wait": HostScene(
        check="G6", words="the budget lets the call wait until the lease ends soon", spoil=long_wait
    ),
    "paid": HostScene(
        check="G9",
        words="a bug of the provider ends a host that is paid until tomorrow",
        stages=("end",),
        paid=True,
    ),
}
"""What goes wrong after it was decided that a host is wiped or given up."""
