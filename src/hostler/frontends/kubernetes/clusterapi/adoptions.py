"""Adoptions: hosts that are to be taken over, and what else comes to their fleet meanwhile.

Which were asked for and not answered yet is in the store alone: whoever asked may be gone.
"""

from collections.abc import Iterable

from hostler.domain.errors import RequestRefused
from hostler.domain.ids import MachineId
from hostler.domain.model.snapshot import Request, RequestKind
from hostler.domain.reporting.hosts import HostStatus
from hostler.requests.by_id import MachinesById
from hostler.requests.hosts import Adoption

from .acts import Adopt


def adopted_by(requests: Iterable[Request]) -> set[MachineId]:
    """Return the ids of machines that hosts are to become, by requests that wait."""
    return {
        machine
        for request in requests
        if request.kind is RequestKind.POOL_ADOPT
        for machine in request.machines
    }


def adoption(
    act: Adopt, by_id: MachinesById, hosts: Iterable[HostStatus], requests: Iterable[Request]
) -> Adoption:
    """Return what is to be taken over. Raises RequestRefused where its host is called otherwise."""
    machines, fleet = by_id.machines(), by_id.fleet
    waiting = adopted_by(request for request in requests if request.fleet == fleet.name)
    return Adoption(
        fleet=fleet,
        row=by_id.row(),
        machines=machines,
        hosts=(_called(act, hosts),),
        ids=(act.machine,),
        keep_disk=True,
        requested=len(by_id.requested) + len(waiting - {machine.id for machine in machines}),
    )


def _called(act: Adopt, hosts: Iterable[HostStatus]) -> HostStatus:
    """Return the host that is to be taken over, if its name is as was said."""
    found = next((host for host in hosts if host.id == act.host), None)
    if found is not None and found.name == act.name:
        return found
    seen = f"is called {found.name}" if found is not None else "is not observed"
    raise RequestRefused(f"host {act.host} {seen}, and not {act.name}")
