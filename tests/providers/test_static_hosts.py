"""Static hosts: claims that exclude each other, cleaning, silence, and host keys."""

import asyncio
from collections.abc import AsyncGenerator
from datetime import timedelta

import pytest
from msgspec.structs import replace
from static_hosts import FLEET, HOME, ZONE, FakeHost, Park, eventually, key, park

from hostler.domain.ids import (
    AccountName,
    FleetName,
    HostId,
    InstallationId,
    MachineId,
    ResourceId,
    Zone,
)
from hostler.domain.model.calls import Call, Done, Effect, Outcome, Refusal, Refused, Unknown
from hostler.domain.model.capabilities import Cleaning
from hostler.domain.model.host import Host, HostGoal
from hostler.domain.model.machine import Known, Machine, Offer, Place
from hostler.domain.model.phases import Goal, Phase
from hostler.domain.model.resource import Condition, Observation, Resource, Scope, Slot, Stage
from hostler.providers.static.provider import StaticHosts
from hostler.testing.conformance.provider.rig import Fault

ME, OTHER = MachineId("m-aaaaaaaaaa"), MachineId("m-bbbbbbbbbb")
ABROAD = InstallationId("abroad99")
SERVER = Slot("server")
WHOLE = Scope(ZONE, "server")
MINUTE = timedelta(minutes=1)
QUICK = timedelta(milliseconds=300)
OFFER = Offer(type="host", zone=ZONE)


@pytest.fixture
async def hosts() -> AsyncGenerator[Park]:
    async with park(2) as made:
        yield made


def machine_of(
    hosts: Park, resource: Resource | None = None, machine: MachineId = ME, host: str = "box1"
) -> Machine:
    """Return a machine that is bound to a host, and to its allocation where that is given."""
    now = hosts.clock.now()
    blank = Machine(
        id=machine,
        fleet=FLEET,
        serial=1,
        created=now,
        since=now,
        phase=Phase.STARTING,
        offer=OFFER,
        host=HostId(host),
    )
    if resource is None:
        return blank
    known = Known(id=resource.id, zone=ZONE, since=now)
    return blank.with_place(Place(slot=SERVER, bound=resource.id, known=(known,)))


def claim(
    hosts: Park,
    machine: MachineId = ME,
    host: str = "box1",
    provider: StaticHosts | None = None,
) -> Call:
    """Return the call by which a machine claims its host."""
    made = machine_of(hosts, machine=machine, host=host)
    (call,) = (provider or hosts.provider()).next_calls(Goal.PRESENT, made, (), hosts.clock.now())
    return call


def release(hosts: Park, resource: Resource, machine: MachineId = ME) -> Call:
    """Return the call by which a machine lets go of its host."""
    made = machine_of(hosts, resource, machine, resource.name)
    (call,) = hosts.provider().next_calls(Goal.ABSENT, made, (resource,), hosts.clock.now())
    return call


def renamed(call: Call, old: str, new: str) -> Call:
    """Return a call with other words in it."""
    args = tuple((name, str(value).replace(old, new)) for name, value in call.args)
    return replace(call, args=args)


def made(outcome: Outcome) -> Resource:
    assert isinstance(outcome, Done), outcome
    (resource,) = outcome.resources
    return resource


def refusal(outcome: Outcome) -> Refusal:
    assert isinstance(outcome, Refused), outcome
    return outcome.why


def host_in(observation: Observation, name: str = "box1") -> Resource:
    return next(resource for resource in observation.resources if resource.id == name)


def allocation_in(observation: Observation) -> Resource:
    (resource,) = (resource for resource in observation.resources if resource.slot == SERVER)
    return resource


async def observed(hosts: Park, provider: StaticHosts | None = None) -> Observation:
    return await (provider or hosts.provider()).observe((WHOLE,))


async def test_a_claim_is_a_line_that_a_person_can_read(hosts: Park) -> None:
    resource = made(await hosts.provider().do(claim(hosts)))
    assert resource.id == f"box1#{ME}"
    assert resource.condition is Condition.UP
    assert hosts.hosts[0].claim.read_text() == (
        f"hostler-claim installation={HOME} fleet={FLEET} machine={ME}\n"
    )
    assert hosts.hosts[0].claim.stat().st_mode & 0o777 == 0o600


async def test_two_installations_never_both_claim_a_host(hosts: Park) -> None:
    ours, theirs = hosts.provider(), hosts.provider(ABROAD)
    machines = [MachineId(f"m-{letter * 10}") for letter in "abcdef"]
    async with asyncio.TaskGroup() as group:
        tasks = [
            group.create_task(provider.do(claim(hosts, machine, f"box{number // 3 + 1}", provider)))
            for number, machine in enumerate(machines)
            for provider in ((ours, theirs)[number % 2],)
        ]
    outcomes = [task.result() for task in tasks]
    claimed = {made(o).name for o in outcomes if isinstance(o, Done)}
    assert sum(isinstance(outcome, Done) for outcome in outcomes) == 2
    assert claimed == {"box1", "box2"}
    refused = [refusal(outcome) for outcome in outcomes if not isinstance(outcome, Done)]
    assert refused == [Refusal.WRONG_STATE] * 4


async def test_a_host_says_whose_it_is(hosts: Park) -> None:
    await hosts.provider().do(claim(hosts))
    theirs = hosts.provider(ABROAD)
    await theirs.do(claim(hosts, OTHER, "box2", theirs))
    observation = await observed(hosts)
    facts = {resource.name: resource.host for resource in observation.resources}
    assert (facts["box1"].stage, facts["box1"].holder) == (Stage.CLAIMED, ME)
    assert (facts["box2"].stage, facts["box2"].installation) == (Stage.FOREIGN, ABROAD)
    hosts.hosts[1].claim.unlink()
    assert host_in(await observed(hosts), "box2").host.stage is Stage.POOL


async def test_a_claim_done_twice_is_one_claim(hosts: Park) -> None:
    first = made(await hosts.provider().do(claim(hosts)))
    again = made(await hosts.provider().do(claim(hosts)))
    assert again.id == first.id


async def test_a_machine_without_a_host_asks_nothing(hosts: Park) -> None:
    machine = replace(machine_of(hosts), host=None)
    for goal in Goal:
        assert not hosts.provider().next_calls(goal, machine, (), hosts.clock.now())


async def test_a_taken_host_fits_nobody_and_its_claim_is_refused(hosts: Park) -> None:
    provider = hosts.provider()
    late = claim(hosts, OTHER)
    made(await provider.do(claim(hosts)))
    outcome = await provider.do(late)
    assert isinstance(outcome, Refused)
    assert (outcome.why, outcome.text) == (Refusal.WRONG_STATE, "box1: the claim is taken")
    observation = await observed(hosts)
    taken, free = host_in(observation), host_in(observation, "box2")
    assert provider.fits(FLEET, OFFER, taken) == "claimed"
    assert not provider.fits(FLEET, OFFER, free)
    other = replace(OFFER, zone=Zone("large"))
    assert provider.fits(FLEET, other, free) == "it is of the group static"


async def test_a_silent_host_fits_nobody(hosts: Park) -> None:
    provider = hosts.provider()
    await observed(hosts, provider)
    await hosts.hosts[0].stop()
    for patience in (0 * MINUTE, 6 * MINUTE):
        hosts.clock.pass_by(patience)
        host = host_in(await observed(hosts, provider))
        assert host.host.stage is Stage.NONE
        assert provider.fits(FLEET, OFFER, host) == "silent"
    assert refusal(await provider.do(claim(hosts))) is Refusal.NOT_SENT


async def test_a_host_that_cannot_write_refuses(hosts: Park) -> None:
    (hosts.hosts[0].home / ".hostler").write_text("in the way")
    assert refusal(await hosts.provider().do(claim(hosts))) is Refusal.BUSY
    assert made(await hosts.provider().do(claim(hosts, host="box2"))).name == "box2"


@pytest.mark.parametrize("fault", [Fault.AFTER, Fault.BEFORE, Fault.GARBAGE])
async def test_a_broken_claim_is_unknown_and_goes_to_no_other_host(
    hosts: Park, fault: Fault
) -> None:
    hosts.hosts[0].fault = fault
    assert isinstance(await hosts.provider().do(claim(hosts)), Unknown)
    assert hosts.hosts[0].claim.exists() == (fault is not Fault.BEFORE)
    assert not hosts.hosts[1].claim.exists()


async def test_a_release_removes_the_very_claim_and_no_other(hosts: Park) -> None:
    provider = hosts.provider()
    old = made(await provider.do(claim(hosts)))
    call = release(hosts, old)
    assert isinstance(await provider.do(call), Done)
    new = made(await provider.do(claim(hosts, OTHER)))
    assert new.name == old.name
    abroad = renamed(release(hosts, new, OTHER), HOME, ABROAD)
    elsewhere = renamed(release(hosts, new, OTHER), FLEET, "others")
    for stale in (call, abroad, elsewhere):
        assert isinstance(await provider.do(stale), Done)
        assert hosts.hosts[0].claim.exists()


async def test_what_names_no_claim_is_refused(hosts: Park) -> None:
    call = claim(hosts)
    for old, new in (("box1", "box1; rm -rf /"), (ME, "m-$(reboot)"), (FLEET, "a b")):
        outcome = await hosts.provider().do(renamed(call, old, new))
        assert refusal(outcome) is Refusal.INVALID
    unknown = replace(call, kind="host.format")
    assert refusal(await hosts.provider().do(unknown)) is Refusal.INVALID
    assert not any(host.commands for host in hosts.hosts)


async def test_a_host_that_left_the_file_is_gone(hosts: Park) -> None:
    resource = ResourceId(f"box9#{ME}")
    provider = hosts.provider()
    call = claim(hosts, host="box9")
    removal = replace(call, kind="host.release", effect=Effect.DESTROY, target=resource)
    assert await provider.do(removal) == Done(absent=(resource,))
    assert refusal(await provider.do(call)) is Refusal.WRONG_STATE
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
    observation, provider = await observed(hosts), hosts.provider()
    resource = host_in(observation)
    assert (resource.owner_tag, resource.condition) == (None, Condition.UNKNOWN)
    assert resource.host.stage is Stage.OTHER
    assert observation.strange == ("unreadable claim at box1",)
    assert observation.observed[0].complete
    assert provider.fits(FLEET, OFFER, resource) == "unreadable claim"
    now, blank = hosts.clock.now(), Host(id=HostId("box1"), account=AccountName("lab"), zone=ZONE)
    assert not provider.host_calls(HostGoal.CLEAN, blank, resource, now)
    assert refusal(await provider.do(claim(hosts))) is Refusal.WRONG_STATE
    assert file.read_text() == text


async def test_a_claim_that_is_a_folder_is_reported_and_left(hosts: Park) -> None:
    hosts.hosts[0].claim.mkdir(parents=True)
    assert host_in(await observed(hosts)).status == "unreadable claim"
    assert refusal(await hosts.provider().do(claim(hosts))) is Refusal.WRONG_STATE


async def test_half_an_answer_leaves_the_observation_incomplete(hosts: Park) -> None:
    hosts.hosts[0].cuts = True
    provider = hosts.provider()
    made(await provider.do(claim(hosts)))
    observation = await observed(hosts, provider)
    assert not observation.observed[0].complete


async def test_hosts_are_clean_by_a_command_where_any_fleet_has_one(hosts: Park) -> None:
    for command, cleaning in (("", Cleaning.TRUSTED), ("true", Cleaning.COMMAND)):
        hosts.release = command
        capabilities = hosts.provider().capabilities.hosts
        assert capabilities is not None
        assert capabilities.cleaning is cleaning


class TestCleaning:
    """What becomes of the host once its machine let go of it."""

    @staticmethod
    async def released(hosts: Park, command: str) -> StaticHosts:
        """Return a provider whose first host is its own, and not clean yet."""
        hosts.release = command
        provider = hosts.provider()
        resource = made(await provider.do(claim(hosts)))
        assert await provider.do(release(hosts, resource)) == Done(absent=(resource.id,))
        return provider

    @staticmethod
    async def status(provider: StaticHosts) -> str:
        return host_in(await provider.observe((WHOLE,))).status

    @staticmethod
    async def calls(
        hosts: Park, provider: StaticHosts, *, proved: bool = False
    ) -> tuple[Call, ...]:
        now = hosts.clock.now()
        blank = Host(id=HostId("box1"), account=AccountName("lab"), zone=ZONE)
        host = blank.with_cleaning(wiped=now if proved else None)
        resource = host_in(await provider.observe((WHOLE,)))
        return provider.host_calls(HostGoal.CLEAN, host, resource, now)

    async def reaches(self, provider: StaticHosts, status: str) -> None:
        async def holds() -> bool:
            return await self.status(provider) == status

        await eventually(holds)

    async def test_a_host_is_released_then_cleaned_then_free(self, hosts: Park) -> None:
        provider = await self.released(
            hosts, "echo done >> log; until [ -e go ]; do sleep 0.02; done"
        )
        box = hosts.hosts[0]
        assert box.claim.read_text().startswith("hostler-clean ")
        (clean,) = await self.calls(hosts, provider)
        assert (clean.kind, clean.once) == ("host.clean", True)
        for _ in range(3):
            assert isinstance(await provider.do(clean), Done)
        await self.reaches(provider, "cleaning")
        assert host_in(await observed(hosts)).condition is Condition.WIPING
        assert not await self.calls(hosts, provider)
        (box.home / "go").touch()
        await self.reaches(provider, "cleaned")
        assert not await self.calls(hosts, provider)
        (free,) = await self.calls(hosts, provider, proved=True)
        assert (free.kind, free.aim) == ("host.free", Stage.POOL)
        assert isinstance(await provider.do(free), Done)
        assert host_in(await observed(hosts)).host.stage is Stage.POOL
        assert (box.home / "log").read_text() == "done\n"
        assert sorted(f.name for f in (box.home / ".hostler").iterdir()) == ["clean.log"]

    async def test_nothing_but_its_end_says_that_it_is_clean(self, hosts: Park) -> None:
        provider = await self.released(hosts, "sleep 2")
        assert not host_in(await observed(hosts)).host.cleaned
        await provider.do((await self.calls(hosts, provider))[0])
        await self.reaches(provider, "cleaning")
        assert not host_in(await observed(hosts)).host.cleaned

    async def test_silence_is_no_progress_of_a_cleaning(self, hosts: Park) -> None:
        """What changes with a cleaning proves that it began: silence is no such change."""
        provider = await self.released(hosts, "true")
        assert host_in(await observed(hosts, provider)).host.witness == "not clean"
        await hosts.hosts[0].stop()
        host = host_in(await observed(hosts, provider)).host
        assert (host.stage, host.witness, host.cleaned) == (Stage.WIPING, "", False)

    async def test_a_host_of_a_renamed_fleet_is_cleaned_as_its_record_says(
        self, hosts: Park
    ) -> None:
        """Its claim bears the old name, of which no file says any more how to clean after it."""
        hosts.release = "echo done >> log"
        made(await hosts.provider().do(claim(hosts)))
        hosts.fleet, box = FleetName("workers"), hosts.hosts[0]
        provider, now = hosts.provider(), hosts.clock.now()
        (allocation,) = (
            r for r in (await provider.observe((WHOLE,))).resources if r.slot == SERVER
        )
        taken = replace(machine_of(hosts, allocation), fleet=hosts.fleet)
        (call,) = provider.next_calls(Goal.ABSENT, taken, (allocation,), now)
        assert isinstance(await provider.do(call), Done)
        assert box.claim.read_text().startswith("hostler-clean ")
        assert FLEET in box.claim.read_text()
        resource = host_in(await provider.observe((WHOLE,)))
        host = Host(id=HostId("box1"), account=AccountName("lab"), zone=ZONE, fleet=hosts.fleet)
        (clean,) = provider.host_calls(HostGoal.CLEAN, host, resource, now)
        assert clean.kind == "host.clean"
        assert isinstance(await provider.do(clean), Done)
        await self.reaches(provider, "cleaned")
        assert (box.home / "log").read_text() == "done\n"

    async def test_a_host_of_a_fleet_that_nobody_knows_is_never_handed_on_as_it_is(
        self, hosts: Park
    ) -> None:
        hosts.release = "true"
        resource = made(await hosts.provider().do(claim(hosts)))
        call = release(hosts, resource)
        hosts.fleet = FleetName("workers")
        provider = hosts.provider()
        assert isinstance(await provider.do(call), Done)
        assert hosts.hosts[0].claim.read_text().startswith("hostler-clean ")
        assert not await self.calls(hosts, provider)
        (free,) = await self.calls(hosts, provider, proved=True)
        assert free.kind == "host.free"

    async def test_nobody_claims_a_host_that_is_not_clean(self, hosts: Park) -> None:
        provider = await self.released(hosts, "true")
        resource = host_in(await observed(hosts))
        assert provider.fits(FLEET, OFFER, resource) == "not clean"
        assert refusal(await provider.do(claim(hosts, OTHER))) is Refusal.WRONG_STATE

    async def test_a_cleaning_that_failed_is_done_again(self, hosts: Park) -> None:
        provider = await self.released(hosts, "echo x >> tries; test $(wc -l < tries) = 2")
        await provider.do((await self.calls(hosts, provider))[0])
        await self.reaches(provider, "cleaning failed")
        assert host_in(await observed(hosts)).condition is Condition.FAILED
        (again,) = await self.calls(hosts, provider)
        assert again.kind == "host.clean"
        await provider.do(again)
        await self.reaches(provider, "cleaned")

    async def test_a_reboot_in_its_midst_ends_a_cleaning(self, hosts: Park) -> None:
        provider = await self.released(hosts, "reboot")
        (hosts.hosts[0].home / ".hostler" / f"clean.{ME}").write_text("another-boot 1\n")
        assert await self.status(provider) == "cleaned"

    async def test_a_cleaning_whose_process_died_is_done_again(self, hosts: Park) -> None:
        provider = await self.released(hosts, "sleep 2")
        await provider.do((await self.calls(hosts, provider))[0])
        await self.reaches(provider, "cleaning")
        await hosts.hosts[0].end_cleaning()
        await self.reaches(provider, "cleaning failed")

    @pytest.mark.parametrize("proved", [False, True])
    async def test_a_late_call_leaves_the_next_tenant_alone(
        self, hosts: Park, *, proved: bool
    ) -> None:
        provider = await self.released(hosts, "touch harm")
        (late,) = await self.calls(hosts, provider, proved=proved)
        hosts.hosts[0].claim.unlink()
        made(await provider.do(claim(hosts, OTHER)))
        assert refusal(await provider.do(late)) is Refusal.WRONG_STATE
        assert not list((hosts.hosts[0].home / ".hostler").glob("clean.*"))
        assert hosts.hosts[0].claim.read_text().startswith("hostler-claim ")

    async def test_a_claim_that_no_record_explains_is_cleaned_too(self, hosts: Park) -> None:
        hosts.release = "true"
        provider = hosts.provider()
        made(await provider.do(claim(hosts)))
        (begin,) = await self.calls(hosts, provider)
        assert (begin.kind, begin.aim) == ("host.release", Stage.WIPING)
        assert await provider.do(begin) == Done()
        assert hosts.hosts[0].claim.read_text().startswith("hostler-clean ")

    async def test_without_a_command_a_host_is_free_as_it_is_left(self, hosts: Park) -> None:
        provider = hosts.provider()
        resource = made(await provider.do(claim(hosts)))
        (free,) = await self.calls(hosts, provider)
        assert free.kind == "host.free"
        await provider.do(release(hosts, resource))
        host = host_in(await observed(hosts))
        assert (host.host.stage, host.host.cleaned) == (Stage.POOL, True)

    async def test_another_fleets_command_is_not_run(self, hosts: Park) -> None:
        hosts.release = "touch harm"
        provider = hosts.provider()
        call = renamed(claim(hosts), FLEET, "others")
        resource = made(await provider.do(call))
        assert resource.owner_tag is not None
        assert resource.owner_tag.fleet == FleetName("others")
        others = replace(machine_of(hosts, resource), fleet=FleetName("others"))
        (end,) = provider.next_calls(Goal.ABSENT, others, (resource,), hosts.clock.now())
        assert isinstance(await provider.do(end), Done)
        assert not await self.calls(hosts, provider)
        assert hosts.hosts[0].claim.read_text().startswith("hostler-clean "), "nor handed on"
        assert not (hosts.hosts[0].home / "harm").exists()


class TestSilence:
    async def test_a_silent_host_is_unknown_then_off_and_never_absent(self, hosts: Park) -> None:
        provider = hosts.provider()
        resource = made(await provider.do(claim(hosts)))
        await provider.observe((WHOLE,))
        await hosts.hosts[0].stop()
        observation = await provider.observe((WHOLE,))
        assert not observation.observed[0].complete
        assert observation.observed[0].error.startswith("box1: ")
        assert (allocation_in(observation).id, allocation_in(observation).condition) == (
            resource.id,
            Condition.UNKNOWN,
        )
        hosts.clock.pass_by(6 * MINUTE)
        observation = await provider.observe((WHOLE,))
        assert observation.observed[0].complete
        assert (allocation_in(observation).id, allocation_in(observation).condition) == (
            resource.id,
            Condition.OFF,
        )
        assert allocation_in(observation).owner_tag is not None
        await hosts.hosts[0].start()
        assert allocation_in(await provider.observe((WHOLE,))).condition is Condition.UP

    async def test_a_clock_that_jumps_switches_no_host_off(self, hosts: Park) -> None:
        """Such as one that is set while the engine runs: a host missed one login meanwhile."""
        provider = hosts.provider()
        await provider.do(claim(hosts))
        await hosts.hosts[0].stop()
        await provider.observe((WHOLE,))
        hosts.clock.jump(60 * MINUTE)
        observation = await provider.observe((WHOLE,))
        assert allocation_in(observation).condition is Condition.UNKNOWN
        assert not observation.observed[0].complete
        hosts.clock.pass_by(6 * MINUTE)
        assert allocation_in(await provider.observe((WHOLE,))).condition is Condition.OFF

    @pytest.mark.parametrize("later", [6, 60])
    async def test_a_host_that_nobody_looked_at_meanwhile_was_not_silent_all_the_time(
        self, hosts: Park, later: int
    ) -> None:
        """Such as while another engine led: the host missed one login before, and one after."""
        provider = hosts.provider()
        await provider.do(claim(hosts))
        await hosts.hosts[0].stop()
        await provider.observe((WHOLE,))
        hosts.clock.pass_by(60 * MINUTE)
        assert allocation_in(await provider.observe((WHOLE,))).condition is Condition.UNKNOWN
        for _ in range(2):
            hosts.clock.pass_by(later * MINUTE)
            assert allocation_in(await provider.observe((WHOLE,))).condition is Condition.OFF

    async def test_a_known_claim_is_shown_by_a_process_that_never_saw_it(self, hosts: Park) -> None:
        resource = made(await hosts.provider().do(claim(hosts)))
        await hosts.hosts[0].stop()
        observation = await hosts.provider().observe((Scope(ZONE, "server", ME, (resource.id,)),))
        assert not observation.observed[0].complete
        assert (allocation_in(observation).id, allocation_in(observation).condition) == (
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
        resource = made(await provider.do(claim(hosts)))
        await hosts.hosts[0].stop()
        outcome = await provider.do(release(hosts, resource))
        assert refusal(outcome) is Refusal.NOT_SENT
        assert hosts.hosts[0].claim.exists()

    async def test_a_hung_host_costs_a_call_its_time_and_no_more(self, hosts: Park) -> None:
        provider = hosts.provider(call=QUICK)
        hosts.hosts[0].hangs = True
        observation = await provider.observe((WHOLE,))
        assert not observation.observed[0].complete
        assert "no answer within" in observation.observed[0].error
        assert isinstance(await hosts.provider(call=QUICK).do(claim(hosts)), Unknown)


class TestHostKeys:
    """The first key that a host shows is put on its record by the engine, and must stay."""

    @staticmethod
    async def replaced(host: FakeHost) -> None:
        """Let somebody else answer at the host's address."""
        await host.stop()
        host.host_key = "an impostor's"
        await host.start()

    async def test_the_key_that_a_host_shows_is_told(self, hosts: Park) -> None:
        observation = await observed(hosts)
        assert observation.observed[0].complete
        keys = {resource.host.host_key for resource in observation.resources}
        assert keys == {key("host").get_fingerprint()}
        assert not any(resource.host.key_vouched for resource in observation.resources)

    async def test_a_key_other_than_that_on_record_is_refused(self, hosts: Park) -> None:
        hosts.keys = {HostId(name): key("host").get_fingerprint() for name in ("box1", "box2")}
        provider = hosts.provider()
        assert (await observed(hosts, provider)).observed[0].complete
        await self.replaced(hosts.hosts[0])
        hosts.hosts[0].commands.clear()
        observation = await observed(hosts, provider)
        assert not observation.observed[0].complete
        assert "set `fingerprint` if it was reinstalled" in observation.observed[0].error
        host = host_in(observation)
        assert (host.status, host.condition) == ("another host key", Condition.UNKNOWN)
        assert host.host.host_key == key("an impostor's").get_fingerprint()
        assert provider.fits(FLEET, OFFER, host) == "another host key"
        assert refusal(await provider.do(claim(hosts))) is Refusal.NOT_SENT
        assert not hosts.hosts[0].commands
        assert made(await provider.do(claim(hosts, host="box2"))).name == "box2"

    async def test_a_key_with_another_fingerprint_is_refused(self, hosts: Park) -> None:
        hosts.fingerprint = f"SHA256:{'A' * 43}"
        observation = await observed(hosts)
        assert not observation.observed[0].complete
        assert f"not SHA256:{'A' * 43}" in observation.observed[0].error
        assert not any(host.commands for host in hosts.hosts)

    async def test_a_fingerprint_in_the_file_rules_over_the_record(self, hosts: Park) -> None:
        hosts.keys = {HostId("box1"): f"SHA256:{'A' * 43}"}
        hosts.fingerprint = key("host").get_fingerprint()
        observation = await observed(hosts)
        assert observation.observed[0].complete
        assert host_in(observation).host.key_vouched


def test_connections_lead_to_the_bound_host(hosts: Park) -> None:
    provider = hosts.provider()
    resource = Resource(id=ResourceId(f"box2#{ME}"), slot=SERVER, zone=ZONE, condition=Condition.UP)
    connection = provider.connection(machine_of(hosts, resource), (resource,))
    assert connection is not None
    assert (connection.port, connection.user) == (hosts.hosts[1].port, "builder")
    assert provider.connection(machine_of(hosts), (resource,)) is None
