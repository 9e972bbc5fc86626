"""Static hosts: claims that exclude each other, cleaning, silence, and host keys."""

import asyncio
from collections.abc import AsyncGenerator
from dataclasses import replace
from datetime import timedelta

import pytest
from static_hosts import FLEET, HOME, ZONE, Park, eventually, park

from hostler.domain.ids import InstallationId, MachineId, ResourceId
from hostler.domain.model.calls import Call, Done, Effect, Outcome, Refusal, Refused, Unknown
from hostler.domain.model.machine import Known, Machine, Offer, Place
from hostler.domain.model.phases import Goal, Phase
from hostler.domain.model.resource import Condition, Observation, Resource, Scope, Slot
from hostler.providers.static.provider import StaticHosts
from hostler.testing.conformance.provider.rig import Fault

ME, OTHER = MachineId("m-aaaaaaaaaa"), MachineId("m-bbbbbbbbbb")
ABROAD = InstallationId("abroad99")
SERVER = Slot("server")
WHOLE = Scope(ZONE, "server")
MINUTE = timedelta(minutes=1)
QUICK = timedelta(milliseconds=300)


@pytest.fixture
async def hosts() -> AsyncGenerator[Park]:
    async with park(2) as made:
        yield made


def claim(machine: MachineId = ME, attempt: int = 1) -> Call:
    return Call(
        kind="host.claim",
        slot=SERVER,
        zone=ZONE,
        effect=Effect.MAKE,
        attempt=attempt,
        once=True,
        args=(("fleet", FLEET), ("machine", machine)),
    )


def deletion(kind: str, resource: ResourceId) -> Call:
    return Call(
        kind=kind,
        slot=SERVER,
        zone=ZONE,
        effect=Effect.DESTROY,
        target=resource,
        args=(("fleet", FLEET),),
    )


def machine_of(hosts: Park, resource: Resource | None = None) -> Machine:
    now = hosts.clock.now()
    machine = Machine(
        id=ME,
        fleet=FLEET,
        serial=1,
        created=now,
        since=now,
        phase=Phase.STARTING,
        offer=Offer(type="host", zone=ZONE),
    )
    if resource is None:
        return machine
    known = Known(id=resource.id, zone=ZONE, since=now, attempt=1)
    return machine.with_place(Place(slot=SERVER, attempt=1, bound=resource.id, known=(known,)))


def made(outcome: Outcome) -> Resource:
    assert isinstance(outcome, Done), outcome
    (resource,) = outcome.resources
    return resource


def refusal(outcome: Outcome) -> Refusal:
    assert isinstance(outcome, Refused), outcome
    return outcome.why


def the_part(observation: Observation) -> Resource:
    (resource,) = observation.resources
    return resource


async def test_a_claim_is_a_line_that_a_person_can_read(hosts: Park) -> None:
    resource = made(await hosts.provider().do(claim()))
    assert resource.id == f"box1#{ME}.1"
    assert resource.condition is Condition.UP
    assert hosts.hosts[0].claim.read_text() == (
        f"hostler-claim installation={HOME} fleet={FLEET} machine={ME} attempt=1\n"
    )
    assert hosts.hosts[0].claim.stat().st_mode & 0o777 == 0o600


async def test_two_installations_never_both_claim_a_host(hosts: Park) -> None:
    ours, theirs = hosts.provider(), hosts.provider(ABROAD)
    machines = [MachineId(f"m-{letter * 10}") for letter in "abcdef"]
    async with asyncio.TaskGroup() as group:
        tasks = [
            group.create_task((ours if number % 2 else theirs).do(claim(machine)))
            for number, machine in enumerate(machines)
        ]
    outcomes = [task.result() for task in tasks]
    claimed = {made(o).id.split("#")[0] for o in outcomes if isinstance(o, Done)}
    assert sum(isinstance(outcome, Done) for outcome in outcomes) == 2
    assert claimed == {"box1", "box2"}
    refused = [refusal(outcome) for outcome in outcomes if not isinstance(outcome, Done)]
    assert refused == [Refusal.STOCK] * 4


async def test_a_claim_done_twice_under_one_number_is_one_claim(hosts: Park) -> None:
    first = made(await hosts.provider().do(claim()))
    hosts.hosts[0].commands.clear()
    retry_at = made(await hosts.provider().do(claim()))
    assert retry_at.id == first.id
    assert not hosts.hosts[1].claim.exists()


async def test_an_empty_zone_and_taken_hosts_are_out_of_stock(hosts: Park) -> None:
    provider = hosts.provider()
    made(await provider.do(claim(ME)))
    made(await provider.do(claim(OTHER)))
    outcome = await provider.do(claim(MachineId("m-cccccccccc")))
    assert isinstance(outcome, Refused)
    assert outcome.why is Refusal.STOCK
    assert "box1 is taken; box2 is taken" in outcome.text


async def test_a_silent_host_is_passed_over(hosts: Park) -> None:
    await hosts.hosts[0].stop()
    assert made(await hosts.provider().do(claim())).id.startswith("box2#")


async def test_a_host_that_cannot_write_is_passed_over(hosts: Park) -> None:
    (hosts.hosts[0].home / ".hostler").write_text("in the way")
    assert made(await hosts.provider().do(claim())).id.startswith("box2#")


@pytest.mark.parametrize("fault", [Fault.AFTER, Fault.BEFORE, Fault.GARBAGE])
async def test_a_broken_claim_is_unknown_and_goes_to_no_other_host(
    hosts: Park, fault: Fault
) -> None:
    hosts.hosts[0].fault = fault
    assert isinstance(await hosts.provider().do(claim()), Unknown)
    assert hosts.hosts[0].claim.exists() == (fault is not Fault.BEFORE)
    assert not hosts.hosts[1].claim.exists()


async def test_a_release_removes_the_very_claim_and_no_other(hosts: Park) -> None:
    provider = hosts.provider()
    old = made(await provider.do(claim()))
    assert isinstance(await provider.do(deletion("host.release", old.id)), Done)
    new = made(await provider.do(claim(OTHER)))
    assert new.name == old.name
    for stale in (old.id, f"box1#{OTHER}.2", f"box1#{ME}.11"):
        assert isinstance(await provider.do(deletion("host.release", ResourceId(stale))), Done)
        assert hosts.hosts[0].claim.exists()


async def test_what_names_no_claim_is_refused(hosts: Park) -> None:
    outcome = await hosts.provider().do(deletion("host.release", ResourceId("box1; rm -rf /")))
    assert refusal(outcome) is Refusal.INVALID
    assert refusal(await hosts.provider().do(claim(MachineId("m-$(reboot)")))) is Refusal.INVALID
    assert not any(host.commands for host in hosts.hosts)


async def test_a_host_that_left_the_file_is_gone(hosts: Park) -> None:
    resource = ResourceId(f"box9#{ME}.1")
    provider = hosts.provider()
    assert isinstance(await provider.do(deletion("host.release", resource)), Done)
    observation = await provider.observe((Scope(ZONE, "server", ME, (resource,)),))
    assert observation.observed[0].complete
    assert not observation.resources


@pytest.mark.parametrize(
    "text", ["", "wibble\n", "hostler-claim installation=x\n" * 50, "\x00\xff"]
)
async def test_a_claim_that_cannot_be_read_is_reported_and_left(hosts: Park, text: str) -> None:
    file = hosts.hosts[0].claim
    file.parent.mkdir()
    file.write_text(text)
    observation = await hosts.provider().observe((WHOLE,))
    resource = the_part(observation)
    assert (resource.owner_tag, resource.condition) == (None, Condition.UNKNOWN)
    assert observation.strange == ("unreadable claim at box1",)
    assert observation.observed[0].complete
    for goal in (Goal.PRESENT, Goal.ABSENT):
        assert not hosts.provider().next_calls(
            goal, machine_of(hosts), (resource,), hosts.clock.now()
        )
    assert made(await hosts.provider().do(claim())).id.startswith("box2#")


async def test_a_claim_that_is_a_folder_is_reported_and_left(hosts: Park) -> None:
    hosts.hosts[0].claim.mkdir(parents=True)
    observation = await hosts.provider().observe((WHOLE,))
    assert the_part(observation).status == "unreadable claim"
    assert made(await hosts.provider().do(claim())).id.startswith("box2#")


async def test_half_an_answer_leaves_the_observation_incomplete(hosts: Park) -> None:
    hosts.hosts[0].cuts = True
    provider = hosts.provider()
    made(await provider.do(claim()))
    observation = await provider.observe((WHOLE,))
    assert not observation.observed[0].complete


class TestCleaning:
    @staticmethod
    async def claimed(hosts: Park, command: str) -> tuple[StaticHosts, Resource]:
        hosts.release = command
        provider = hosts.provider()
        return provider, made(await provider.do(claim()))

    @staticmethod
    async def status(provider: StaticHosts) -> str:
        return the_part(await provider.observe((WHOLE,))).status

    @staticmethod
    def next_calls(hosts: Park, provider: StaticHosts, resource: Resource) -> list[str]:
        machine = machine_of(hosts, resource)
        calls = provider.next_calls(Goal.ABSENT, machine, (resource,), hosts.clock.now())
        return [call.kind for call in calls]

    async def test_a_host_is_cleaned_then_released(self, hosts: Park) -> None:
        provider, resource = await self.claimed(
            hosts, "echo done >> log; until [ -e go ]; do sleep 0.02; done"
        )
        assert self.next_calls(hosts, provider, resource) == ["host.clean"]
        for _ in range(3):
            assert isinstance(await provider.do(deletion("host.clean", resource.id)), Done)

        async def cleaning() -> bool:
            return await self.status(provider) == "cleaning"

        async def cleaned() -> bool:
            return await self.status(provider) == "cleaned"

        await eventually(cleaning)
        resource = the_part(await provider.observe((WHOLE,)))
        assert not self.next_calls(hosts, provider, resource)
        (hosts.hosts[0].home / "go").touch()
        await eventually(cleaned)
        resource = the_part(await provider.observe((WHOLE,)))
        assert self.next_calls(hosts, provider, resource) == ["host.release"]
        await provider.do(deletion("host.release", resource.id))
        assert (hosts.hosts[0].home / "log").read_text() == "done\n"
        assert sorted(f.name for f in (hosts.hosts[0].home / ".hostler").iterdir()) == ["clean.log"]

    async def test_a_cleaning_that_failed_is_done_again(self, hosts: Park) -> None:
        provider, resource = await self.claimed(hosts, "echo x >> tries; test $(wc -l < tries) = 2")
        await provider.do(deletion("host.clean", resource.id))

        async def failed() -> bool:
            return await self.status(provider) == "cleaning failed"

        async def cleaned() -> bool:
            return await self.status(provider) == "cleaned"

        await eventually(failed)
        resource = the_part(await provider.observe((WHOLE,)))
        assert self.next_calls(hosts, provider, resource) == ["host.clean"]
        await provider.do(deletion("host.clean", resource.id))
        await eventually(cleaned)

    async def test_a_reboot_in_its_midst_ends_a_cleaning(self, hosts: Park) -> None:
        provider, resource = await self.claimed(hosts, "reboot")
        tag = resource.id.partition("#")[2]
        file = hosts.hosts[0].home / ".hostler" / f"clean.{tag}"
        file.write_text("another-boot 1\n")
        assert await self.status(provider) == "cleaned"

    async def test_a_cleaning_whose_process_died_is_done_again(self, hosts: Park) -> None:
        provider, resource = await self.claimed(hosts, "sleep 2")
        await provider.do(deletion("host.clean", resource.id))

        async def cleaning() -> bool:
            return await self.status(provider) == "cleaning"

        async def failed() -> bool:
            return await self.status(provider) == "cleaning failed"

        await eventually(cleaning)
        await hosts.hosts[0].end_cleaning()
        await eventually(failed)

    async def test_a_late_cleaning_leaves_the_next_tenant_alone(self, hosts: Park) -> None:
        provider, resource = await self.claimed(hosts, "touch harm")
        hosts.hosts[0].claim.unlink()
        made(await provider.do(claim(OTHER)))
        assert isinstance(await provider.do(deletion("host.clean", resource.id)), Done)
        assert not list((hosts.hosts[0].home / ".hostler").glob("clean.*"))

    async def test_a_surplus_claim_is_released_uncleaned(self, hosts: Park) -> None:
        provider, resource = await self.claimed(hosts, "touch harm")
        late = replace(resource, id=ResourceId(f"box2#{ME}.2"), surplus=True)
        machine = machine_of(hosts, resource)
        calls = provider.next_calls(Goal.PRESENT, machine, (resource, late), hosts.clock.now())
        assert [(call.kind, call.target) for call in calls] == [("host.release", late.id)]


class TestSilence:
    async def test_a_silent_host_is_unknown_then_off_and_never_absent(self, hosts: Park) -> None:
        provider = hosts.provider()
        resource = made(await provider.do(claim()))
        await provider.observe((WHOLE,))
        await hosts.hosts[0].stop()
        observation = await provider.observe((WHOLE,))
        assert not observation.observed[0].complete
        assert observation.observed[0].error.startswith("box1: ")
        assert (the_part(observation).id, the_part(observation).condition) == (
            resource.id,
            Condition.UNKNOWN,
        )
        hosts.clock.pass_by(6 * MINUTE)
        observation = await provider.observe((WHOLE,))
        assert observation.observed[0].complete
        assert (the_part(observation).id, the_part(observation).condition) == (
            resource.id,
            Condition.OFF,
        )
        assert the_part(observation).owner_tag is not None
        await hosts.hosts[0].start()
        assert the_part(await provider.observe((WHOLE,))).condition is Condition.UP

    async def test_a_known_claim_is_shown_by_a_process_that_never_saw_it(self, hosts: Park) -> None:
        resource = made(await hosts.provider().do(claim()))
        await hosts.hosts[0].stop()
        observation = await hosts.provider().observe((Scope(ZONE, "server", ME, (resource.id,)),))
        assert not observation.observed[0].complete
        assert (the_part(observation).id, the_part(observation).condition) == (
            resource.id,
            Condition.UNKNOWN,
        )

    async def test_when_most_are_silent_none_counts_as_off(self, hosts: Park) -> None:
        provider = hosts.provider()
        for host in hosts.hosts:
            await host.stop()
        for _ in range(3):
            observation = await provider.observe((WHOLE,))
            assert not observation.observed[0].complete
            hosts.clock.pass_by(60 * MINUTE)

    async def test_a_silent_host_refuses_and_is_not_released(self, hosts: Park) -> None:
        provider = hosts.provider()
        resource = made(await provider.do(claim()))
        await hosts.hosts[0].stop()
        outcome = await provider.do(deletion("host.release", resource.id))
        assert refusal(outcome) is Refusal.NOT_SENT
        assert hosts.hosts[0].claim.exists()

    async def test_a_hung_host_costs_a_call_its_time_and_no_more(self, hosts: Park) -> None:
        provider = hosts.provider(call=QUICK)
        hosts.hosts[0].hangs = True
        observation = await provider.observe((WHOLE,))
        assert not observation.observed[0].complete
        assert "no answer within" in observation.observed[0].error
        assert isinstance(await hosts.provider(call=QUICK).do(claim()), Unknown)


class TestHostKeys:
    async def test_the_first_key_is_pinned_and_another_is_refused(self, hosts: Park) -> None:
        provider = hosts.provider()
        assert (await provider.observe((WHOLE,))).observed[0].complete
        assert hosts.hostkeys.read_text().count("SHA256:") == 2
        await hosts.hosts[0].stop()
        hosts.hosts[0].host_key = "an impostor's"
        await hosts.hosts[0].start()
        observation = await hosts.provider().observe((WHOLE,))
        assert not observation.observed[0].complete
        assert "remove that line if it was reinstalled" in observation.observed[0].error
        assert made(await provider.do(claim())).id.startswith("box2#")

    async def test_a_key_with_another_fingerprint_is_refused(self, hosts: Park) -> None:
        hosts.fingerprint = f"SHA256:{'A' * 43}"
        observation = await hosts.provider().observe((WHOLE,))
        assert not observation.observed[0].complete
        assert f"not SHA256:{'A' * 43}" in observation.observed[0].error
        assert not any(host.commands for host in hosts.hosts)
        assert not hosts.hostkeys.exists()

    async def test_pins_that_cannot_be_written_trust_nobody(self, hosts: Park) -> None:
        hosts.hostkeys.mkdir()
        observation = await hosts.provider().observe((WHOLE,))
        assert "its key cannot be checked" in observation.observed[0].error


def test_connections_lead_to_the_bound_host(hosts: Park) -> None:
    provider = hosts.provider()
    resource = Resource(
        id=ResourceId(f"box2#{ME}.1"), slot=SERVER, zone=ZONE, condition=Condition.UP
    )
    connection = provider.connection(machine_of(hosts, resource), (resource,))
    assert connection is not None
    assert (connection.port, connection.user) == (hosts.hosts[1].port, "builder")
    assert provider.connection(machine_of(hosts), (resource,)) is None
