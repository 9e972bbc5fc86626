"""Smallrecords: what the store of the small world takes, and what a record must never say."""

from dataclasses import replace

from hostler.domain.ids import machine_id
from hostler.domain.model.commands import KeepRow
from hostler.domain.model.machine import Machine
from hostler.domain.model.phases import Phase
from hostler.testing.scenes.builders import OFFER, WEB

from .actions import makes
from .state import Fault, Setting, State, Violated


class Records:
    """Saves rows and machines; raises Violated where one breaks a promise."""

    def __init__(self, setting: Setting) -> None:
        self._setting, self._fleet = setting, setting.fleet

    def save_row(self, state: State, command: KeepRow) -> State:
        """Write a row with its new machines; no more may be wanted than were wished."""
        row = replace(command.row, version=state.row.version + 1, creations=(), losses=())
        row = replace(row, destructions=(), serial=row.serial + len(command.inserts), condition="")
        born = tuple(
            Machine(
                id=machine_id(command.row.serial + number),
                fleet=WEB,
                serial=command.row.serial + number,
                created=state.now,
                since=state.now,
                phase=Phase.WANTED,
                offer=OFFER,
                version=1,
            )
            for number, _ in enumerate(command.inserts, start=1)
        )
        after = replace(state, row=row, machines=(*state.machines, *born))
        wanted = sum(machine.wanted for machine in after.machines)
        if born and wanted > row.wished(self._fleet):
            raise Violated(f"S2: {wanted} machines are wanted of {row.wished(self._fleet)}")
        return after

    def save(self, state: State, machine: Machine) -> State:
        """Write a record; nothing of what is gone may exist, or come yet."""
        saved = replace(machine, version=machine.version + 1)
        machines = tuple(m for m in state.machines if m.id != machine.id)
        history = tuple(m for m in state.history if m.id != machine.id)
        if machine.phase is Phase.GONE:
            left = [p.id for p in state.parts if p.mark and p.mark.machine == machine.id]
            left += [c.kind for c in state.late if c.arg("machine") == str(machine.id) if makes(c)]
            if left and Fault.TOO_LATE not in self._setting.kinds:
                raise Violated(f"S7: {machine.id} is called gone, and there is {left}")
            return replace(state, machines=machines, history=(*history, saved))
        return replace(state, machines=(*machines, saved), history=history)
