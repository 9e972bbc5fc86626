"""Quota: how many Macs of a type an organisation may have, as far as the API tells it."""

from collections.abc import Iterable

import structlog

from hostler.domain.ids import Zone
from hostler.domain.model.calls import Call, Refusal, Refused
from hostler.providers.scaleway.common.endpoints import Api
from hostler.providers.scaleway.common.findings import lowest_limit, why_unread
from hostler.providers.scaleway.common.wire import Quotum

from .endpoints import MacApi

log: structlog.stdlib.BoundLogger = structlog.get_logger("hostler.macs")

PERMISSION = "OrganizationReadOnly"
_INSTANCES = "cp_"
"""How the quotas of Instances begin, some of whose types are called much like Macs."""


class Quotas:
    """Reads quotas before hosts are ordered. What is not known keeps nobody from an order.

    The API holds to its quotas itself: to refuse what it would have sold is worse than to ask.
    """

    def __init__(self, api: MacApi) -> None:
        self._api, self._iam = api, Api(api.client)
        self._reported = set[str]()

    async def beyond(self, call: Call, type_name: str) -> Refused | None:
        """Return why the hosts of an order are more than there may be, with for how many is room.

        Hosts of other projects count as well, and are not seen: what is beyond is so for certain.
        """
        limit = await self._limit(call.zone, type_name)
        if limit is None:
            return None
        listing = await self._api.macs(call.zone)
        if listing.error:
            self._unknown(call.zone, f"its hosts cannot be listed: {listing.error}")
            return None
        project, machines = self._api.project, call.arg("machines")
        hosts = [mac for mac in listing.found.values() if mac.project_id in {None, project}]
        stand = sum(mac.type == type_name for mac in hosts)
        more = len(machines) if isinstance(machines, tuple) else 0
        if stand + more <= limit:
            return None
        room = max(0, limit - stand)
        over = f"only {room} of {more} more may" if room else f"{more} more are beyond it"
        text = (
            f"the quota of {type_name} in {call.zone} is {limit}: {stand} stand already, and "
            f"{over}; ask the support for a larger one, or lower order.most"
        )
        return Refused(why=Refusal.QUOTA, text=text, room=room)

    async def _limit(self, zone: Zone, type_name: str) -> int | None:
        organization = self._api.client.account.organization
        if not organization:
            self._unknown("quotas", "no organization is set")
            return None
        listing = await self._iam.quota(organization)
        if listing.error:
            self._unknown("quotas", why_unread(listing, PERMISSION))
            return None
        limits = limits_of(type_name, zone, listing.found.values())
        if not limits:
            self._unknown(type_name, "no limit is listed")
        return highest(limits)

    def _unknown(self, about: str, why: str) -> None:
        """Tell once that a quota is not known."""
        if about not in self._reported:
            self._reported.add(about)
            log.info("a quota is not known before hosts are ordered", about=about, why=why)


def limits_of(type_name: str, zone: Zone, quota: Iterable[Quotum]) -> tuple[int | None, ...]:
    """Return the limits of a type in a zone; None is no limit, and of an empty tuple none is told.

    Nobody wrote down how the quotas of Macs are named: it is taken to be one that has the name of
    the type between underscores.
    """
    return tuple(lowest_limit(one, [zone]) for one in quota if _is_of(type_name, one.id))


def highest(limits: tuple[int | None, ...]) -> int | None:
    """Return the limit that certainly holds, whichever of them is meant; None where none does."""
    known = [limit for limit in limits if limit is not None]
    return max(known) if known and len(known) == len(limits) else None


def _is_of(type_name: str, quotum: str) -> bool:
    name = _plain(quotum)
    return not name.startswith(_INSTANCES) and f"_{_plain(type_name)}_" in f"_{name}_"


def _plain(name: str) -> str:
    return name.lower().replace("-", "_").replace(".", "_")
