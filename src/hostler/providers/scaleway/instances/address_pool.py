"""Address pool: existing addresses, which machines take and give back, and nobody deletes.

A pool is the free addresses of a project that carry a tag. Taking one is writing our owner tag
beside that tag, in one request; giving it back takes the owner tag away and detaches it, in one
request. An address that was just touched is left alone for a while: listings lag, and a request
whose answer was lost may yet have its effect. One installation may use a pool, not two: nothing at
Scaleway makes a tag unique.
"""

from datetime import timedelta

from hostler.domain.ids import MachineId, ResourceId
from hostler.domain.model.calls import Call, Done, Outcome, Refusal, Refused
from hostler.domain.model.resource import taken_id
from hostler.ports.clock import Clock
from hostler.ports.http import NoAnswer
from hostler.providers.scaleway.common.endpoints import Api
from hostler.providers.scaleway.common.errors import (
    TROUBLE,
    Failed,
    Garbled,
    outcome_of,
    refusal_of,
    unread,
)
from hostler.providers.scaleway.common.owner_tags import (
    address_id,
    from_tags,
    pool_of,
    pooled,
    taken_tag,
)
from hostler.providers.scaleway.common.wire import Ip

from .observe.read import Reader
from .plan.calls import text

REST = timedelta(minutes=5)


class Pool:
    """Takes and gives back the addresses of pools, one at a time for each address."""

    def __init__(self, api: Api, clock: Clock) -> None:
        self._api, self._clock = api, clock
        self._resting = dict[str, float]()

    async def take(self, call: Call, tags: tuple[str, ...], reader: Reader) -> Outcome:
        """Tag a free address of the call's pool as the machine's; refused where there is none."""
        pool = text(call, "pool")
        listing = await self._api.addresses(call.zone, pool)
        if listing.trouble is not None:
            return unread(listing.trouble, "pool")
        free = [ip for ip in listing.found.values() if self._free(ip, pool)]
        if not free:
            why = f"no free address with the tag {pool!r} in {call.zone}"
            return Refused(why=Refusal.QUOTA, text=why)
        address = min(free, key=lambda ip: ip.id)
        self._rest(address.id)
        owner_tags = [*(address.tags or []), taken_tag(pool), *tags]
        try:
            taken = await self._api.change_address(call.zone, address.id, {"tags": owner_tags})
        except TROUBLE as trouble:
            self._wake_if_untouched(address.id, trouble)
            return outcome_of(trouble, call)
        return Done(resources=(reader.address(taken),))

    async def release(self, call: Call, target: ResourceId) -> Outcome:
        """Give an address back; one that is no longer this allocation's is back already."""
        address = address_id(target)
        try:
            ip = await self._api.address(call.zone, address)
        except Failed as failed:
            missing = failed.problem.missing
            return Done(absent=(target,), missing=True) if missing else unread(failed, "pool")
        except TROUBLE as trouble:
            return unread(trouble, "pool")
        claim = from_tags(ip.tags or [], "address")
        taken = target if pooled(target) else taken_id(address, MachineId(text(call, "machine")))
        if claim is None or taken_id(address, claim.owner_tag.machine) != taken:
            return Done(absent=(target,))
        self._rest(address)
        await self._api.change_address(call.zone, address, _bare(ip))
        return Done(absent=(target,))

    def _free(self, ip: Ip, pool: str) -> bool:
        tags = ip.tags or []
        tagged = any(tag.startswith("hostler") for tag in tags)
        unbind = ip.server is None and ip.state == "detached" and ip.type == "routed_ipv4"
        ours = ip.project in {None, self._api.project}
        return ours and unbind and pool in tags and not tagged and not self._rests(ip.id)

    def _rest(self, address: str) -> None:
        now = self._clock.boot()
        self._resting = {key: until for key, until in self._resting.items() if until > now}
        self._resting[address] = now + REST.total_seconds()

    def _rests(self, address: str) -> bool:
        return self._resting.get(address, 0.0) > self._clock.boot()

    def _wake_if_untouched(self, address: str, trouble: Exception) -> None:
        """A definite refusal had no effect: the address may be taken by the next."""
        unknown = isinstance(trouble, NoAnswer | Garbled) or (
            isinstance(trouble, Failed) and refusal_of(trouble.problem) is None
        )
        if not unknown:
            self._resting.pop(address, None)


def _bare(ip: Ip) -> dict[str, object]:
    """Return what makes an address free again: hung on nothing, and without our owner tags."""
    tags = [tag for tag in ip.tags or [] if not tag.startswith("hostler")]
    pool = pool_of(ip.tags or [])
    if pool and pool not in tags:
        tags.append(pool)
    body: dict[str, object] = {"tags": tags}
    return {**body, "server": None} if ip.server is not None else body
