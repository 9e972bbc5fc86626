"""Tenants: who is on a host that is to be wiped or deleted, and until when is it paid for?"""

from hostler.domain.ids import MachineId
from hostler.lab.checks.shadow_store import ShadowStore
from hostler.lab.harness.watched import UNDER_WAY
from hostler.ports.http import HttpRequest
from hostler.simulators.scaleway.state.mac_records import Mac, MacStatus
from hostler.testing.invariants import Found, Violation

_SKEW = 5.0
"""How far apart, in seconds, our clocks and the provider's may be."""


def claimant(request: HttpRequest) -> MachineId | None:
    """Return the machine in whose call a host is changed, None where no machine's is."""
    doing = UNDER_WAY.get()
    if request.method != "PATCH" or doing is None:
        return None
    return MachineId(str(doing.call.arg("machine") or ""))


def ended(shadow: ShadowStore, mac: Mac, act: str, now: float) -> Found:
    """S6: a host on which a job runs is neither wiped nor deleted by its own installation."""
    user = next((one for one in shadow.living() if one.host == mac.id), None)
    if user is None or mac.status is not MacStatus.READY:
        return ()
    return shadow.jobs.ended(user.id, f"{act} of {mac.id}", now)


def paid(mac: Mac, now: float) -> Found:
    """S11: a host is not deleted while it is paid for."""
    if mac.deletable is None or now >= mac.deletable - _SKEW:
        return ()
    text = f"host {mac.id} was to be deleted, and is paid for until {mac.deletable:.0f}"
    return (Violation(invariant="S11", text=text),)
