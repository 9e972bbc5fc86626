"""The gate and what runs on a host: an answer that grew old while the call waited is none."""

from datetime import timedelta

import pytest
from gate_kit import without
from msgspec.structs import replace

from hostler.controllers.execute.sending import Sender
from hostler.controllers.runtime.rate_limit import Priority
from hostler.domain.model.calls import Call, Effect
from hostler.domain.model.fleet import Probe, ProbeKind
from hostler.domain.model.snapshot import Request, RequestKind
from hostler.domain.policy.gate import Act
from hostler.lab.scenes.mac_ssh import WorldPreparer
from hostler.lab.scenes.macs import FLEET, MINUTE, MacRig, play_macs

ASKING = replace(FLEET, probe=Probe(kind=ProbeKind.SSH, busy="pgrep -x Runner.Worker"))


@pytest.mark.parametrize("judged", [True, False])
def test_a_job_that_began_while_the_call_waited_is_seen_by_the_gate_alone(
    monkeypatch: pytest.MonkeyPatch, *, judged: bool
) -> None:
    if not judged:
        without(("G5", Act.DELETE), monkeypatch)

    async def scene(s: MacRig) -> None:
        preparer = WorldPreparer(s.rig.world)
        s.rig.preparer = s.rig.asker = preparer
        hostler = s.hostler(ASKING)
        await s.ready(hostler, 1)
        (machine,) = await hostler.machines()
        installs, wait = s.mac(machine.host).installs, Sender.wait
        began = list[str]()

        async def job_begins(sender: Sender, call: Call, priority: Priority) -> None:
            await wait(sender, call, priority)
            if call.effect is Effect.DESTROY and not began:
                began.append(call.kind)
                await s.rig.clock.sleep(timedelta(seconds=90))
                preparer.fake.statuses[machine.id] = 0

        monkeypatch.setattr(Sender, "wait", job_begins)
        request = Request(
            number=0,
            kind=RequestKind.DELETE,
            fleet=FLEET.name,
            at=s.rig.clock.now(),
            actor="ann",
            machine=machine.id,
        )
        await hostler.store.request(request)
        await s.rig.clock.sleep(20 * MINUTE)
        assert began
        assert (s.mac(machine.host).installs > installs) is not judged
        assert ("G5" in s.rig.metrics.refusals) is judged

    play_macs(scene)
