"""Diagnosis: the provider's own word on the health of a Mac, before it is rebooted or wiped."""

from datetime import timedelta

from hostler.domain.ids import HostId, Zone
from hostler.domain.policy.remediation import Diagnosis, diagnosis_of
from hostler.ports.clock import Clock
from hostler.providers.scaleway.common.errors import TROUBLE

from .api.endpoints import MacApi

_EVERY = timedelta(seconds=5)
_POLLS = 12


class Doctor:
    """Asks for a diagnosis, and waits a minute for it at most."""

    def __init__(self, api: MacApi, clock: Clock) -> None:
        self._api, self._clock = api, clock

    async def diagnose(self, zone: Zone, host: HostId) -> Diagnosis:
        """Return what was found; no answer is an answer too."""
        try:
            begun = await self._api.start_diagnostic(zone, host)
            for _ in range(_POLLS):
                await self._clock.sleep(_EVERY)
                found = await self._api.diagnostic(zone, begun)
                if found.status in {"completed", "error"}:
                    healthy = found.is_healthy if found.status == "completed" else None
                    actions = frozenset(found.supported_actions or ())
                    return diagnosis_of(healthy=healthy, actions=actions)
        except TROUBLE:
            return Diagnosis.NO_ANSWER
        return Diagnosis.NO_ANSWER
