"""Pooling checks: may hosts be put into a fleet's pool, become its machines, be given up? Pure."""

from collections.abc import Callable, Iterable
from difflib import get_close_matches

from hostler.domain.errors import RequestRefused
from hostler.domain.model.fleet import Fleet, FleetRow
from hostler.domain.model.host import HostCondition, HostGoal
from hostler.domain.model.machine import Machine
from hostler.domain.model.phases import Goal
from hostler.frontends.cli.console.format import typed
from hostler.frontends.cli.console.options import begins

from .host_status import FOREIGN, OTHERS, POOL, Stall

_BUSY = {
    HostCondition.WIPING: "it is being wiped, and goes back by itself",
    HostCondition.RETIRING: "it is being given up",
}
_FAILED = frozenset({"locked", "error"})
_CLAIMED_FROM = frozenset({HostCondition.FREE, HostCondition.DIRTY})


def named(names: Iterable[str], found: Iterable[Stall]) -> tuple[Stall, ...]:
    """Return the hosts of these ids or whole names, each once; WishRefused has all that is wrong.

    A name that several hosts have names none of them.
    """
    stalls, wrong = tuple(found), list[str]()
    chosen = dict[str, Stall]()
    for name in names:
        fits = [stall for stall in stalls if name in {str(stall.id), stall.name}]
        if not name.strip():
            wrong.append(
                "a name is empty: say which host; hostler pool FILE list --online shows them"
            )
        elif len(fits) == 1:
            chosen[fits[0].id] = fits[0]
        elif fits:
            ids = ", ".join(str(stall.id) for stall in fits)
            wrong.append(
                f"{len(fits)} hosts are named {typed(name)}: say which one by its id ({ids})"
            )
        else:
            wrong.append(f"no host {typed(name)} is there{_near(name, stalls)}")
    if wrong:
        raise RequestRefused("; ".join(wrong))
    return tuple(chosen.values())


def read_as(name: str, found: Iterable[Stall]) -> Stall:
    """Return the host of this id or whole name, or whose id alone begins so, or raise WishRefused.

    For those who only read: what is done to a host is done to one that was named whole.
    """
    stalls = tuple(found)
    near = [stall for stall in stalls if begins(stall.id, name)]
    exact = any(name in {str(stall.id), stall.name} for stall in stalls)
    return near[0] if len(near) == 1 and not exact else named((name,), stalls)[0]


def _near(name: str, stalls: Iterable[Stall]) -> str:
    known = [text for stall in stalls for text in (stall.name, str(stall.id)) if text]
    near = [text for text in known if len(name) >= 4 and text.startswith(name)]
    near += get_close_matches(name, known, n=3, cutoff=0.6)
    listed = ", ".join(dict.fromkeys(near[:3]))
    return f"; there is {listed}" if listed else "; hostler pool FILE list --online shows them all"


def check_hosts(stalls: Iterable[Stall]) -> None:
    """Raise WishRefused where any of these hosts is not to be had, with every reason."""
    _check(stalls, _barred)


def _check(stalls: Iterable[Stall], why_not: Callable[[Stall], str]) -> None:
    wrong = [f"{stall.name or stall.id}: {why}" for stall in stalls if (why := why_not(stall))]
    if wrong:
        raise RequestRefused("; ".join(wrong))


def _foreign(stall: Stall, act: str) -> str:
    """Return that another installation has a host, if it has."""
    if stall.note("stage") != FOREIGN:
        return ""
    whose = stall.note("installation") or "an installation that its name does not tell"
    return f"another installation has it ({whose}); it is not ours to {act}"


def _barred(stall: Stall) -> str:
    """Return why a host can neither be put into a pool nor adopted; empty where it can."""
    if foreign := _foreign(stall, "take"):
        return foreign
    if stall.binding is not None:
        return f"machine {stall.binding} has it"
    if stall.scheduled is not None:
        return (
            f"the provider deletes it at {stall.scheduled:%Y-%m-%d %H:%M} UTC: take that back first"
        )
    return _busy(stall) or _unfit(stall)


def check_why(why: str) -> None:
    """Raise WishRefused where no reason is given: it is not easily had again."""
    if not why:
        raise RequestRefused("say why a host is given up, as in --why 'its fan is broken'")


def check_given_up(stalls: Iterable[Stall]) -> None:
    """Raise WishRefused where any of these hosts cannot be given up, with every reason."""
    _check(stalls, _kept)


def _kept(stall: Stall) -> str:
    """Return why a host is not given up by its own name; empty where it is."""
    if foreign := _foreign(stall, "give up"):
        return foreign
    if stall.binding is not None:
        return f"machine {stall.binding} has it: hostler retire FILE {stall.binding} --why …"
    if stall.note("stage") in OTHERS:
        return "it is not in the pool: put it in first (hostler pool FILE add), or use the console"
    if stall.record is not None and stall.record.goal is HostGoal.RETIRED:
        return "it is being given up"
    return "the provider does not show it any more" if stall.resource is None else ""


def _busy(stall: Stall) -> str:
    """Return what we do with a host of ours; with one that somebody renamed nothing is done."""
    record = stall.record
    if record is None or record.goal is None or stall.at_large:
        return ""
    return _BUSY.get(record.condition, "")


def _unfit(stall: Stall) -> str:
    if stall.resource is None:
        return "the provider does not show it any more"
    if not stall.note("delivered"):
        return "it is not delivered yet"
    return f"it is {stall.status}" if stall.status in _FAILED else ""


def check_pool(prefix: str, fleet: Fleet) -> None:
    """Raise WishRefused where the fleet has no pool to put anything into."""
    if not prefix:
        raise RequestRefused(
            f"fleet {fleet.name} has no pool: set `pool_prefix` in its file, or in its provider's "
            "table"
        )


def check_put(stalls: Iterable[Stall]) -> None:
    """Raise WishRefused for hosts that are in the pool as it is."""
    there = [stall.name for stall in stalls if stall.note("stage") == POOL and _is_known(stall)]
    if there:
        raise RequestRefused(f"already in the pool: {', '.join(there)}")


def _is_known(stall: Stall) -> bool:
    """Tell whether a host of the pool is claimed from there: its record knows of nothing else."""
    return stall.record is None or stall.record.condition in _CLAIMED_FROM


def untyped(stalls: Iterable[Stall], names: Iterable[str]) -> tuple[Stall, ...]:
    """Return the hosts outside the pool whose whole names nobody typed: none of them is wiped."""
    typed = set(names)
    return tuple(stall for stall in stalls if not stall.pooled and stall.name not in typed)


def check_room(many: int, fleet: Fleet, row: FleetRow | None, machines: Iterable[Machine]) -> None:
    """Raise WishRefused where so many adopted machines do not fit into the fleet."""
    if not fleet.renews:
        raise RequestRefused(
            f"fleet {fleet.name} takes in no hosts (`renews = false`): whoever uses it asks for "
            "each machine"
        )
    wanted = sum(m.wanted and m.goal is not Goal.STANDBY for m in machines)
    size = max(row.desired(fleet) if row else fleet.size, wanted + many)
    if fleet.maximum is not None and size > fleet.maximum:
        raise RequestRefused(
            f"fleet {fleet.name} has at most {fleet.maximum} machines, and {wanted} of them are "
            "there: raise `maximum` in its file"
        )


def strange_to(fleet: Fleet, stall: Stall) -> str:
    """Return what is worth a warning: no machine of the fleet asks for such a host."""
    if any((offer.type, offer.zone) == (stall.type, stall.zone) for offer in fleet.offers):
        return ""
    offers = ", ".join(str(offer) for offer in fleet.offers)
    return f"{stall.name} is {stall.type} in {stall.zone}, and fleet {fleet.name} asks for {offers}"
