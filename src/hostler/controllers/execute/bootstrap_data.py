"""Bootstrap data: a machine's own script is read while it is to be run, and noted when it was."""

from datetime import datetime, timedelta

from msgspec import Struct

from hostler.domain.machines.bootstrap import start_due
from hostler.domain.model.host import Host
from hostler.domain.model.machine import Machine
from hostler.domain.model.phases import Phase
from hostler.domain.model.snapshot import Snapshot
from hostler.domain.policy.bootstrap_data import DataRun, DataState, script_of
from hostler.ports.bootstrap import BootstrapRefused, BootstrapUnavailable, ReadsBootstraps
from hostler.ports.preparer import MachineData

_BEFORE = timedelta(minutes=1)
"""How long before the bound of its start a script is ended at its host: that is to be told yet."""


class DataReader(Struct, frozen=True):
    """Reads the bootstrap data of machines that start on a host."""

    bootstraps: ReadsBootstraps

    async def read(
        self, machine: Machine, host: Host, snapshot: Snapshot, now: datetime
    ) -> MachineData | None:
        """Return a machine's script; None where it has none, or has run it on this disk.

        It is read at each try, and nothing of it is kept: tokens in it are renewed.
        """
        place, run = machine.spec.bootstrap, host.bootstrap.run.of(machine.id)
        if not place or machine.phase is not Phase.STARTING:
            return None
        if run.state in {DataState.DONE, DataState.FAILED}:
            return None
        within = max(_BEFORE, start_due(machine, snapshot) - now - _BEFORE)
        try:
            script = script_of(await self.bootstraps.read(place), place)
        except BootstrapUnavailable as error:
            return MachineData(problem=str(error), within=within)
        except (BootstrapRefused, ValueError) as error:
            return MachineData(problem=str(error), state=DataState.FAILED, within=within)
        return MachineData(script=script, within=within)


def with_run(host: Host, machine: Machine, state: DataState, at: datetime, error: str = "") -> Host:
    """Return the host's record with how far its machine's script came.

    What may have been sent stays *asked* until the host itself says more.
    """
    before = host.bootstrap.run.of(machine.id)
    if state is DataState.WAITING and before.state is not DataState.WAITING:
        return host
    text = error if state is DataState.FAILED else ""
    run = DataRun(machine=machine.id, state=state, at=before.at or at, text=text)
    return host.with_bootstrap(run=run)
