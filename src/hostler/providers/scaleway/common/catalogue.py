"""Catalogue: what a zone sells, at which price, and from which images; kept for a while.

Not knowing prices costs nothing but the figures: it never stops or fails anything.
"""

import re
from collections.abc import Awaitable, Callable, Mapping
from datetime import timedelta
from typing import TypeVar

from msgspec import Struct

from hostler.domain.ids import Zone
from hostler.ports.clock import Clock

from .endpoints import Api
from .errors import TROUBLE, Failed, Garbled, Trouble
from .pages import PER_PAGE
from .settings import Prices

T = TypeVar("T")

FRESH_FOR = timedelta(hours=6)
AGAIN = timedelta(minutes=10)
_MOST_PAGES = 20
_UUID = re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")


def is_id(image: str) -> bool:
    """Tell whether an image is named by its id and not by a label."""
    return _UUID.fullmatch(image) is not None


class NoImage(Exception):
    """The image cannot be used for this type in this zone; a sentence says why."""


class _Learnt(Struct, frozen=True):
    until: float
    prices: Mapping[str, float]


class Catalogue:
    """Prices and images of one account's zones. Times are counted in boot time."""

    def __init__(self, api: Api, clock: Clock, prices: Prices) -> None:
        self.prices = prices
        self._api, self._clock = api, clock
        self._types = dict[Zone, _Learnt]()
        self._images = dict[tuple[Zone, str, str, str], tuple[float, str]]()

    def types(self, zone: Zone) -> Mapping[str, float]:
        """Return euros per hour by type, as far as they were learnt."""
        learnt = self._types.get(zone)
        return learnt.prices if learnt else {}

    async def refresh(self, zone: Zone) -> None:
        """Learn a zone's prices, if they were not learnt of late. Never raises."""
        learnt = self._types.get(zone)
        now = self._clock.boot()
        if learnt is not None and now < learnt.until:
            return
        old = self.types(zone)
        self._types[zone] = _Learnt(now + AGAIN.total_seconds(), old)
        try:
            prices = await self._prices(zone)
        except TROUBLE:
            return
        self._types[zone] = _Learnt(now + FRESH_FOR.total_seconds(), prices)

    async def _prices(self, zone: Zone) -> dict[str, float]:
        types = await every_page(zone, self._api.types)
        return {name: one.hourly_price or 0.0 for name, one in types.items()}

    async def image(self, zone: Zone, label: str, kind: str, type_: str) -> str:
        """Return the id of the image that a label means for a type.

        `kind` is `instance_sbs` or `instance_local`. Raises NoImage, or what asking raises.
        """
        key = (zone, label, kind, type_)
        if self.knows_image(*key):
            return self._images[key][1]
        until = self._clock.boot() + FRESH_FOR.total_seconds()
        image = await self._resolve(zone, label, kind, type_)
        self._images[key] = (until, image)
        return image

    def knows_image(self, zone: Zone, label: str, kind: str, type_: str) -> bool:
        """Tell whether `image` would answer without asking."""
        cached = self._images.get((zone, label, kind, type_))
        return cached is not None and self._clock.boot() < cached[0]

    def forget_images(self, zone: Zone) -> None:
        """Forget what labels mean in a zone: an image that was found is not there any more."""
        self._images = {key: value for key, value in self._images.items() if key[0] != zone}

    async def _resolve(self, zone: Zone, label: str, kind: str, type_: str) -> str:
        listing = await self._api.local_images(zone, label, kind)
        if listing.trouble is not None:
            raise _no_image(listing.trouble, label, zone)
        if listing.error:
            raise Garbled(listing.error)
        fits = [
            image
            for image in listing.found.values()
            if type_.upper() in (t.upper() for t in image.compatible_commercial_types or ())
        ]
        if not fits:
            raise NoImage(f"image {label!r} has no {kind} version for {type_} in {zone}")
        return fits[0].id


async def every_page(
    zone: Zone, read: Callable[[Zone, int], Awaitable[dict[str, T]]]
) -> dict[str, T]:
    """Return a paged map whole; raises what asking raises."""
    found = dict[str, T]()
    for page in range(1, _MOST_PAGES + 1):
        listed = await read(zone, page)
        before = len(found)
        found |= listed
        if len(listed) < PER_PAGE or len(found) == before:
            break
    return found


def _no_image(trouble: Trouble, label: str, zone: Zone) -> Exception:
    if isinstance(trouble, Failed) and trouble.problem.missing:
        return NoImage(f"there is no image called {label!r} in {zone}")
    return trouble
