"""User data: what a server is to read at its first boot, of its fleet and of its own machine.

What is its own is read from where it is kept each time that it is needed, and is in no call: calls
are printed and recorded.
"""

from datetime import timedelta

from msgspec import Struct

from hostler.domain.model.calls import Call
from hostler.domain.policy.user_data import joined
from hostler.ports.bootstrap import BootstrapRefused, ReadsBootstraps
from hostler.ports.clock import Clock
from hostler.providers.scaleway.common.client import Client
from hostler.providers.scaleway.common.settings import LARGEST_USER_DATA, Template

from .plan.calls import BOOTSTRAP, text

_WITHIN = timedelta(seconds=10)
"""How long after a call began its user data must have been read: the right to act passes on."""


class UserData(Struct, frozen=True):
    """Makes the user data of one server after the other."""

    bootstraps: ReadsBootstraps
    client: Client
    clock: Clock

    async def of(self, call: Call, template: Template) -> bytes:
        """Return a server's user data; empty where it has none.

        BootstrapUnavailable, BootstrapRefused, or NotSent where reading took too long.
        """
        place = text(call, BOOTSTRAP)
        if not place:
            return template.cloud_init.encode()
        by = self.clock.boot() + _WITHIN.total_seconds()
        own = await self.bootstraps.read(place)
        self.client.hurry(by)
        found = _together(template.cloud_init, own, place)
        if len(found) > LARGEST_USER_DATA:
            raise BootstrapRefused(
                f"{place} makes {len(found):,} bytes of user data with what the fleet adds: "
                f"{LARGEST_USER_DATA:,} are the most"
            )
        return found


def _together(of_fleet: str, own: bytes, place: str) -> bytes:
    """Return the fleet's user data and a machine's own as one; alone, either stays as it is."""
    if not of_fleet.strip():
        return own
    try:
        return joined(of_fleet, own.decode()).encode()
    except UnicodeDecodeError:
        raise BootstrapRefused(f"{place} is no text: nothing can be joined with it") from None
    except ValueError as error:
        text = f"{place} cannot be joined with the fleet's own: expected {error}"
        raise BootstrapRefused(text) from None
