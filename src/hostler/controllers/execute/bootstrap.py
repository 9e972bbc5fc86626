"""Bootstrap: logs in to a machine's host, configures it, and notes what came of that."""

import dataclasses
from datetime import datetime, timedelta

import structlog
from msgspec.structs import replace

from hostler.controllers.runtime.leases import Leases, Tenure
from hostler.controllers.runtime.settings import Ports
from hostler.controllers.runtime.state import AccountState
from hostler.domain.hosts.host_keys import last_wipe, wiped_for
from hostler.domain.ids import HostId, MachineId
from hostler.domain.machines.bootstrap import REBOOT
from hostler.domain.machines.rollout import trouble_of
from hostler.domain.model.host import Host
from hostler.domain.model.machine import CallState, Machine
from hostler.domain.model.phases import Phase
from hostler.domain.model.snapshot import Answer, Answered, Probed, Snapshot
from hostler.domain.observation.certainty import resources_of
from hostler.domain.policy.bootstrap import asks as asks_password
from hostler.domain.policy.bootstrap import digest_of
from hostler.domain.policy.bootstrap_data import DataState
from hostler.domain.policy.host_keys import Ruling, expected, judge
from hostler.domain.policy.remediation import (
    LADDER,
    Remedy,
    accepted,
    diagnosed,
    failed,
    next_remedy,
    settled,
)
from hostler.domain.policy.revisions import Drift, Revision, Tried, roll_failed
from hostler.ports.command import Question
from hostler.ports.hosts import DiagnosesHosts, KnowsPasswords
from hostler.ports.preparer import Hides, Order, Prepared
from hostler.ports.provider import Connection

from .bootstrap_data import DataReader, with_run

log: structlog.stdlib.BoundLogger = structlog.get_logger("hostler.bootstrap")


_SEALED = timedelta(minutes=10)
"""How long the password of a new disk is waited for before commands that ask for it run without."""

_ANSWERS: dict[int | None, Answer] = {0: Answer.BUSY, 1: Answer.FREE}
"""What the exit status of a fleet's `busy` means; any other means nothing."""

_OBSERVE = timedelta(seconds=15)
"""How far apart such a password is asked for."""


class Outfitter:
    """Prepares the hosts of one account."""

    def __init__(self, ports: Ports, state: AccountState, leases: Leases) -> None:
        self._ports, self._state, self._leases = ports, state, leases
        self._provider = state.account.provider
        self._sealed = dict[MachineId, datetime]()
        self._data = DataReader(ports.bootstraps)

    async def prepare(
        self, machine: Machine, connection: Connection, snapshot: Snapshot, tenure: Tenure
    ) -> Probed:
        """Prepare once, and keep the host's key, its configuration and its failures."""
        begun, host_records = self._ports.clock.now(), self._state.host_records
        host, preparer = host_records.hosts.get(machine.host or HostId("")), self._ports.preparer
        if host is None or preparer is None:
            return Probed(begun=begun, passed=False, text="its host is not on record yet")
        password = await self._password(host, snapshot)
        if password is not None:
            self._sealed.pop(machine.id, None)
        elif self._is_awaited(machine, snapshot, begun):
            await self._ports.clock.sleep(_OBSERVE)
            text = "its password is not shown yet, and its commands ask for it"
            return Probed(begun=begun, passed=False, text=text)
        if not self._may(tenure):
            return Probed(begun=begun, passed=False, text="the lease ran out before its login")
        data = await self._data.read(machine, host, snapshot, begun)
        if data is not None and data.script:
            host = with_run(host, machine, DataState.ASKED, begun)
            if not await self._keep(host, machine, tenure) or not self._may(tenure):
                return Probed(begun=begun, passed=False, text="its host or the lease passed on")
        order = dataclasses.replace(
            _order(machine, connection, snapshot, host, password), data=data
        )
        prepared = await preparer.prepare(connection, order)
        judged = await self._judged(
            _pinned(host, machine, prepared, snapshot, begun), machine, prepared, snapshot
        )
        await self._keep(judged, machine, tenure)
        text = prepared.error or (str(prepared.cause) if prepared.cause else "logged in")
        log.info("prepared", machine=machine.id, host=host.id, well=prepared.well, text=text)
        goes_on = prepared.data in {DataState.WAITING, DataState.RUNNING}
        ended = None if goes_on else self._ports.clock.now()
        return Probed(
            begun=begun, passed=prepared.well, text=text, output=prepared.output, ended=ended
        )

    def _may(self, tenure: Tenure) -> bool:
        """Tell whether we still lead as we did when this was decided.

        A process that slept meanwhile knows neither the key that another one pinned, nor what it
        runs on the host by now.
        """
        held = self._leases.tenure(tenure.lease.name)
        return held is not None and held.epoch == tenure.epoch

    async def ask(self, machine: Machine, snapshot: Snapshot) -> None:
        """Ask a machine's host, or its cluster, whether it is busy, and remember what it said.

        A drain goes on for a while: until it ends, what was answered before it counts.
        """
        answers, now = self._state.answers, self._ports.clock.now()
        if snapshot.fleet.workload is not None:
            answers[machine.id] = await self._drained(machine)
            return
        answers[machine.id] = Answered(answer=Answer.UNKNOWN, at=now, text="it was not asked")
        connection = self._provider.connection(machine, resources_of(machine, snapshot))
        if connection is None:
            answers[machine.id] = replace(answers[machine.id], text="it has no address")
            return
        lent = self._ports.lent(connection, snapshot.fleet)
        answers[machine.id] = await self._asked(machine, lent, snapshot)

    async def _drained(self, machine: Machine) -> Answered:
        """Ask the cluster whether the machine's Node is free, which drains it."""
        begun, workloads = self._ports.clock.now(), self._ports.workloads
        if workloads is None:
            text = "this engine speaks to no cluster"
            return Answered(answer=Answer.UNKNOWN, at=begun, text=text)
        reply = await workloads.drain(machine.id)
        known = _ANSWERS.get(reply.status, Answer.UNKNOWN)
        answer = Answer.BARRED if reply.barred else known
        at = self._ports.clock.now() if answer is Answer.FREE else begun
        log.info("node drained", machine=machine.id, answer=answer, text=reply.text)
        return Answered(answer=answer, at=at, text=reply.text)

    async def _asked(
        self, machine: Machine, connection: Connection, snapshot: Snapshot
    ) -> Answered:
        """Ask once; what has no pinned key is told nothing."""
        begun, probe = self._ports.clock.now(), snapshot.fleet.probe
        host = self._state.host_records.hosts.get(machine.host or HostId(""))
        key = _key_of(host, machine, snapshot) if host is not None else ""
        if self._ports.asker is None or not key:
            text = "no key of it is pinned" if self._ports.asker else "there is nothing to ask with"
            return Answered(answer=Answer.UNKNOWN, at=begun, text=text)
        question = Question(
            machine=machine.id,
            command=probe.busy,
            fingerprint=connection.fingerprint or key,
            user=probe.user,
            port=probe.port,
        )
        reply = await self._ports.asker.ask(connection, question)
        answer = _ANSWERS.get(reply.status, Answer.UNKNOWN)
        log.info("asked whether busy", machine=machine.id, answer=answer, text=reply.text)
        return Answered(answer=answer, at=begun, text=reply.text)

    async def _keep(self, judged: Host, machine: Machine, tenure: Tenure) -> bool:
        """Keep what was learnt of a host; false where it passed on to others in the meantime."""
        host_records = self._state.host_records
        newest = host_records.hosts.get(judged.id, judged)
        if host_records.bindings.get(judged.id) != machine.id:
            return False
        changed = newest.with_bootstrap(
            host_key=judged.bootstrap.host_key,
            applied=judged.bootstrap.applied,
            drift=judged.bootstrap.drift,
            tried=judged.bootstrap.tried,
            run=judged.bootstrap.run,
        ).with_health(trouble=judged.health.trouble)
        if changed != newest:
            await host_records.keep(self._ports.store, changed, tenure.fence)
        return True

    async def _password(self, host: Host, snapshot: Snapshot) -> Hides | None:
        provider = self._provider
        if not _asks(snapshot) or not isinstance(provider, KnowsPasswords):
            return None
        return await provider.password(host.zone, host.id)

    def _is_awaited(self, machine: Machine, snapshot: Snapshot, now: datetime) -> bool:
        """Tell whether commands ask for a password that may yet come: that is nobody's failure."""
        if not _asks(snapshot):
            return False
        return now < self._sealed.setdefault(machine.id, now) + _SEALED

    async def _judged(
        self,
        host: Host,
        machine: Machine,
        prepared: Prepared,
        snapshot: Snapshot,
    ) -> Host:
        """Return the record with what came of it: its commands, and what failed."""
        now = self._ports.clock.now()
        known = self._state.rows.get(snapshot.fleet.name, snapshot.row).revision
        host = host.with_health(trouble=trouble_of(host, known))
        host = _tried(host, machine, prepared, snapshot, now)
        if prepared.data is not None:
            host = with_run(host, machine, prepared.data, now, prepared.error)
            if not prepared.well:  # it is neither the host's fault nor the fleet's
                return host.with_bootstrap(applied=prepared.applied or host.bootstrap.applied)
        if prepared.well:
            return host.with_bootstrap(applied=prepared.applied, drift=Drift()).with_health(
                trouble=settled(host.health.trouble)
            )
        if machine.phase is Phase.READY:
            digest = digest_of(snapshot.fleet.probe.commands)
            return host.with_bootstrap(drift=roll_failed(host.bootstrap.drift, digest, now))
        return await self._troubled(host, machine, prepared, known)

    async def _troubled(
        self, host: Host, machine: Machine, prepared: Prepared, known: Revision
    ) -> Host:
        """Count one more failure, and have the host observed where that comes next.

        No host is examined for a list that is known to be at fault.
        """
        listed = prepared.failed > 0
        trouble = failed(host.health.trouble, stranger=prepared.wrong_key, listed=listed)
        if listed and known.broken is not None:
            return host.with_health(trouble=trouble)
        if _was_rebooted(machine) and not trouble.rebooted:
            trouble = accepted(trouble, Remedy.REBOOT)
        step = next_remedy(replace(trouble, strikes=host.health.strikes), LADDER)
        provider = self._provider
        if step.remedy is Remedy.DIAGNOSE and isinstance(provider, DiagnosesHosts):
            trouble = diagnosed(trouble, await provider.diagnose(host.zone, host.id))
        return host.with_health(trouble=trouble)


def _tried(
    host: Host, machine: Machine, prepared: Prepared, snapshot: Snapshot, now: datetime
) -> Host:
    """Return the record with how the commands came out, where they ran.

    A host where one failed carries a part of the script, and no other one whole.
    """
    if not (prepared.ran or prepared.failed):
        return host
    commands = snapshot.fleet.probe.commands
    tried = Tried(
        digest=digest_of(commands),
        fleet=machine.fleet,
        at=now,
        number=prepared.failed,
        of=len(commands),
        ended=prepared.ended,
    )
    return host.with_bootstrap(
        tried=tried, applied="" if prepared.failed else host.bootstrap.applied
    )


def _asks(snapshot: Snapshot) -> bool:
    return any(map(asks_password, snapshot.fleet.probe.commands))


def _order(
    machine: Machine, connection: Connection, snapshot: Snapshot, host: Host, password: Hides | None
) -> Order:
    probe = snapshot.fleet.probe
    return Order(
        machine=machine.id,
        user=probe.user,
        port=probe.port,
        fingerprint=connection.fingerprint or _key_of(host, machine, snapshot),
        commands=probe.commands,
        applied=host.bootstrap.applied,
        password=password,
    )


def _pinned(
    host: Host, machine: Machine, prepared: Prepared, snapshot: Snapshot, begun: datetime
) -> Host:
    """Return the record with the key that was shown, if it may be trusted.

    It is dated to when the attempt began: a wipe that came in between leaves another key behind.
    """
    if not (prepared.login and prepared.fingerprint):
        return host
    wiped, known = wiped_for(machine, host, snapshot.capabilities), host.bootstrap.host_key
    judgement = judge(known, wiped, prepared.fingerprint, begun)
    key = judgement.host_key
    if judgement.ruling is Ruling.REFUSE or key is None:
        return host
    return host.with_bootstrap(host_key=replace(key, wipe=last_wipe(machine)))


def _key_of(host: Host, machine: Machine, snapshot: Snapshot) -> str:
    """Return the host key that the host must show now; empty where the first one is trusted."""
    return expected(host.bootstrap.host_key, wiped_for(machine, host, snapshot.capabilities))


def _was_rebooted(machine: Machine) -> bool:
    since = machine.fact(REBOOT)
    return since is not None and any(
        asked.kind.endswith(REBOOT) and asked.call_state is CallState.DONE and asked.at >= since
        for asked in machine.asked
    )
