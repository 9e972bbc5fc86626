"""The provider kit itself: a sound provider passes, and each check fires on a broken one.

The toy cloud of the example package is broken here in one way at a time; the table says which
checks must see it.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial

import pytest
from msgspec.structs import replace

from files_rig import KEY, files_world
from hostler.domain.ids import ResourceId
from hostler.domain.model.calls import Call, Done, Effect, Outcome, Refusal, Refused
from hostler.domain.model.machine import Machine
from hostler.domain.model.phases import Goal
from hostler.domain.model.provider import Capabilities
from hostler.domain.model.resource import (
    Condition,
    Observation,
    ObservedScope,
    Resource,
    Scope,
    Slot,
)
from hostler.ports.provider import Connection
from hostler.testing.conformance.provider.suite import (
    CHECKS,
    Check,
    Result,
    Verdict,
    run_all,
    run_check,
)
from hostler_provider_files.cloud import Busy, CloudError, NotThere
from hostler_provider_files.provider import ZONE, FilesProvider

S = timedelta(seconds=1)
SERVER, ADDRESS = Slot("server"), Slot("address")


class Mutant(FilesProvider):
    """The sound provider, with its pure half open to change without its clock argument."""

    def ways(
        self, goal: Goal, machine: Machine, resources: tuple[Resource, ...]
    ) -> tuple[Call, ...]:
        return super().next_calls(goal, machine, resources, machine.created)

    def next_calls(
        self, goal: Goal, machine: Machine, resources: tuple[Resource, ...], now: datetime
    ) -> tuple[Call, ...]:
        del now
        return self.ways(goal, machine, resources)


class MainKindUnlisted(Mutant):
    @property
    def capabilities(self) -> Capabilities:
        return replace(super().capabilities, kinds=("address",))


class CostsNothing(Mutant):
    def cost(self, call: Call | Scope) -> int:
        return super().cost(call) if isinstance(call, Scope) else 0


class ConnectsToNothing(Mutant):
    def connection(self, machine: Machine, resources: tuple[Resource, ...]) -> Connection | None:
        del machine, resources
        return Connection(address="192.0.2.1")


class NeverConnects(Mutant):
    def connection(self, machine: Machine, resources: tuple[Resource, ...]) -> Connection | None:
        del machine, resources
        return None


class ConnectsToWhatIsKnownAlone(Mutant):
    def connection(self, machine: Machine, resources: tuple[Resource, ...]) -> Connection | None:
        is_up = any(one.condition is Condition.UP for one in resources)
        return super().connection(machine, resources) if is_up else None


class NamesNobody(Mutant):
    def provider_id(self, machine: Machine, resources: tuple[Resource, ...]) -> str | None:
        del machine, resources
        return None


class NamesNothing(Mutant):
    def provider_id(self, machine: Machine, resources: tuple[Resource, ...]) -> str | None:
        del resources
        return f"files://{machine.id}"


class NamesWhatIsSeen(Mutant):
    def provider_id(self, machine: Machine, resources: tuple[Resource, ...]) -> str | None:
        return super().provider_id(machine, resources) if resources else None


class NamesAllAlike(Mutant):
    def provider_id(self, machine: Machine, resources: tuple[Resource, ...]) -> str | None:
        return "files://one" if super().provider_id(machine, resources) else None


class NamesBarely(Mutant):
    def provider_id(self, machine: Machine, resources: tuple[Resource, ...]) -> str | None:
        return machine.bound(SERVER) if resources else None


class TellsItsKey(Mutant):
    def ways(
        self, goal: Goal, machine: Machine, resources: tuple[Resource, ...]
    ) -> tuple[Call, ...]:
        calls = super().ways(goal, machine, resources)
        return tuple(replace(call, args=(*call.args, ("user_data", KEY))) for call in calls)


class ClosesOnce(Mutant):
    closed = False

    async def close(self) -> None:
        if self.closed:
            raise RuntimeError("session is closed")
        self.closed = True


class NeverStarts(Mutant):
    def ways(
        self, goal: Goal, machine: Machine, resources: tuple[Resource, ...]
    ) -> tuple[Call, ...]:
        calls = super().ways(goal, machine, resources)
        return tuple(call for call in calls if call.kind != "server.start")


class CreatesAgainAndAgain(Mutant):
    """Creations that may be repeated blindly."""

    def ways(
        self, goal: Goal, machine: Machine, resources: tuple[Resource, ...]
    ) -> tuple[Call, ...]:
        return tuple(replace(call, once=False) for call in super().ways(goal, machine, resources))


class ForgetsAddresses(Mutant):
    """Says that an address is gone, hides it, and leaves it on the bill."""

    def __init__(self, *args: object) -> None:
        super().__init__(*args)  # pyright: ignore[reportArgumentType] - passed on as they are
        self.hidden = set[ResourceId]()

    async def do(self, call: Call) -> Outcome:
        if call.kind == "address.delete" and call.target is not None:
            self.hidden.add(call.target)
            return Done(absent=(call.target,))
        return await super().do(call)

    async def observe(self, scopes: tuple[Scope, ...]) -> Observation:
        observation = await super().observe(scopes)
        return replace(
            observation,
            resources=tuple(p for p in observation.resources if p.id not in self.hidden),
        )


class DeletesWhatWas(Mutant):
    """Goes by the record's ids, whether or not they are gone."""

    def ways(
        self, goal: Goal, machine: Machine, resources: tuple[Resource, ...]
    ) -> tuple[Call, ...]:
        calls = super().ways(goal, machine, resources)
        was = next((known for known in machine.place(SERVER).known if known.deleted), None)
        if goal is not Goal.ABSENT or calls or was is None:
            return calls
        delete = Call(
            kind="server.delete", slot=SERVER, zone=ZONE, effect=Effect.DESTROY, target=was.id
        )
        return (delete,)


class StartsTheOldAgain(Mutant):
    def next_calls(
        self, goal: Goal, machine: Machine, resources: tuple[Resource, ...], now: datetime
    ) -> tuple[Call, ...]:
        calls = self.ways(goal, machine, resources)
        old = now - machine.created > 12 * S and machine.fact("restarted") is None
        if goal is Goal.PRESENT and not calls and old:
            server = next(p for p in resources if p.slot == SERVER)
            start = Call(
                kind="server.start",
                slot=SERVER,
                zone=ZONE,
                effect=Effect.CHANGE,
                target=server.id,
                fact="restarted",
            )
            return (start,)
        return calls


class GoneIsAnError(Mutant):
    async def do(self, call: Call) -> Outcome:
        try:
            return self._send(call)
        except NotThere as error:
            return Refused(why=Refusal.INVALID, text=str(error))


class Counts(Mutant):
    """Numbers its calls by itself."""

    number = 0

    def ways(
        self, goal: Goal, machine: Machine, resources: tuple[Resource, ...]
    ) -> tuple[Call, ...]:
        self.number += 1
        calls = super().ways(goal, machine, resources)
        return tuple(replace(c, args=(*c.args, ("number", self.number))) for c in calls)


class KeepsSurplus(Mutant):
    def ways(
        self, goal: Goal, machine: Machine, resources: tuple[Resource, ...]
    ) -> tuple[Call, ...]:
        unmarked = tuple(replace(resource, surplus=False) for resource in resources)
        return super().ways(goal, machine, unmarked)


class RemovesTheBound(Mutant):
    def ways(
        self, goal: Goal, machine: Machine, resources: tuple[Resource, ...]
    ) -> tuple[Call, ...]:
        if not any(resource.surplus for resource in resources):
            return super().ways(goal, machine, resources)
        reconciled = tuple(
            replace(p, surplus=not p.surplus and p.slot == SERVER) for p in resources
        )
        return super().ways(goal, machine, reconciled)


class FillsAgain(Mutant):
    """Makes what is not there, whatever was bound."""

    def ways(
        self, goal: Goal, machine: Machine, resources: tuple[Resource, ...]
    ) -> tuple[Call, ...]:
        free = tuple(replace(place, bound=None) for place in machine.places)
        return super().ways(goal, replace(machine, places=free), resources)


class FirstPageOnly(Mutant):
    async def observe(self, scopes: tuple[Scope, ...]) -> Observation:
        observation = await super().observe(scopes)
        if scopes[0].machine is not None:
            return observation
        servers = [p for p in observation.resources if p.slot == SERVER][: self._cloud.page]
        return replace(
            observation,
            resources=tuple(p for p in observation.resources if p.slot != SERVER or p in servers),
        )


class BrokenPageIsTheLast(Mutant):
    async def observe(self, scopes: tuple[Scope, ...]) -> Observation:
        observation = await super().observe(scopes)
        whole = tuple(
            replace(observed, complete=True, error="") for observed in observation.observed
        )
        return replace(observation, observed=whole)


class BrokenPageLosesAll(Mutant):
    async def observe(self, scopes: tuple[Scope, ...]) -> Observation:
        observation = await super().observe(scopes)
        whole = all(observed.complete for observed in observation.observed)
        return observation if whole else replace(observation, resources=())


class OwnerTagsAreNotListed(Mutant):
    """A look at one machine asks for its known ids and nothing else."""

    async def observe(self, scopes: tuple[Scope, ...]) -> Observation:
        observation = await super().observe(scopes)
        if any(scope.machine is None for scope in scopes):
            return observation
        known = {resource for scope in scopes for resource in scope.known}
        return replace(
            observation,
            resources=tuple(resource for resource in observation.resources if resource.id in known),
        )


class HidesForeign(Mutant):
    async def observe(self, scopes: tuple[Scope, ...]) -> Observation:
        observation = await super().observe(scopes)
        ours = (
            p
            for p in observation.resources
            if p.owner_tag and p.owner_tag.installation == self._installation
        )
        return replace(observation, resources=tuple(ours))


class TakesAllDown(Mutant):
    """Deletes every server there is."""

    async def do(self, call: Call) -> Outcome:
        outcome = await super().do(call)
        if call.kind == "server.delete":
            for item in self._cloud.servers(1):
                self._cloud.delete_server(item.id)
        return outcome


class Speaks(Mutant):
    """Looks whose parts are changed one by one."""

    def heard(self, resource: Resource) -> Resource:
        return resource

    async def observe(self, scopes: tuple[Scope, ...]) -> Observation:
        observation = await super().observe(scopes)
        return replace(
            observation, resources=tuple(self.heard(resource) for resource in observation.resources)
        )


class LacksAWord(Speaks):
    def heard(self, resource: Resource) -> Resource:
        lacking = resource.status == "booting"
        return replace(resource, condition=Condition.UNKNOWN) if lacking else resource


class StrangeIsOff(Speaks):
    """What is not known is taken for stopped."""

    def heard(self, resource: Resource) -> Resource:
        unknown = resource.condition is Condition.UNKNOWN
        return replace(resource, condition=Condition.OFF) if unknown else resource


class StrangeIsSilent(Mutant):
    async def observe(self, scopes: tuple[Scope, ...]) -> Observation:
        return replace(await super().observe(scopes), strange=())


class StrangeIsDeleted(Mutant):
    def ways(
        self, goal: Goal, machine: Machine, resources: tuple[Resource, ...]
    ) -> tuple[Call, ...]:
        if goal is Goal.ABSENT:
            resources = tuple(replace(resource, condition=Condition.OFF) for resource in resources)
        return super().ways(goal, machine, resources)


class StrangeIsFatal(Speaks):
    def heard(self, resource: Resource) -> Resource:
        return replace(
            resource, condition=Condition({"on": "up"}.get(resource.status, resource.status))
        )


class LostIsRefused(Mutant):
    async def do(self, call: Call) -> Outcome:
        try:
            return self._send(call)
        except NotThere:
            return await super().do(call)
        except CloudError as error:
            return Refused(why=Refusal.BUSY, text=str(error))


class LostIsDone(Mutant):
    async def do(self, call: Call) -> Outcome:
        outcome = await super().do(call)
        return outcome if isinstance(outcome, (Done, Refused)) else Done()


class BusyIsInvalid(Mutant):
    async def do(self, call: Call) -> Outcome:
        try:
            return self._send(call)
        except Busy as error:
            return Refused(why=Refusal.INVALID, text=str(error))
        except CloudError:
            return await super().do(call)


class DeadRaises(Mutant):
    async def observe(self, scopes: tuple[Scope, ...]) -> Observation:
        observation = await super().observe(scopes)
        if not all(observed.complete for observed in observation.observed):
            raise ConnectionError("no route to host")
        return observation


class DeadIsEmpty(Mutant):
    async def observe(self, scopes: tuple[Scope, ...]) -> Observation:
        observation = await super().observe(scopes)
        begun = self._clock.now()
        return replace(
            observation,
            observed=tuple(ObservedScope(scope=s, begun=begun, complete=True) for s in scopes),
        )


class ProgressInMemory(Mutant):
    """Knows what it made, and believes nothing else."""

    def __init__(self, *args: object) -> None:
        super().__init__(*args)  # pyright: ignore[reportArgumentType] - passed on as they are
        self.made = set[ResourceId]()

    async def do(self, call: Call) -> Outcome:
        outcome = await super().do(call)
        if isinstance(outcome, Done):
            self.made |= {resource.id for resource in outcome.resources}
        return outcome

    def ways(
        self, goal: Goal, machine: Machine, resources: tuple[Resource, ...]
    ) -> tuple[Call, ...]:
        return super().ways(goal, machine, tuple(p for p in resources if p.id in self.made))


class TagsNothing(Mutant):
    """Creates without an owner tag, to be written some time later."""

    def _tags(self, call: Call) -> str:
        del call
        return ""


class OneAfterTheOther(Mutant):
    """Cleans the address first, and nothing else as long as there is one."""

    def ways(
        self, goal: Goal, machine: Machine, resources: tuple[Resource, ...]
    ) -> tuple[Call, ...]:
        calls = super().ways(goal, machine, resources)
        if goal is not Goal.ABSENT:
            return calls
        return tuple(sorted(calls, key=lambda call: call.slot))[:1]


class NoServerNothingToDo(Mutant):
    def ways(
        self, goal: Goal, machine: Machine, resources: tuple[Resource, ...]
    ) -> tuple[Call, ...]:
        if goal is Goal.ABSENT and not any(resource.slot == SERVER for resource in resources):
            return ()
        return super().ways(goal, machine, resources)


@dataclass(frozen=True, slots=True)
class Case:
    """A broken provider, a check that must see it, and words of the sentence that it says."""

    check: str
    make: Callable[..., FilesProvider]
    says: str


CASES = (
    Case("capabilities_are_sane", MainKindUnlisted, "not in `kinds`"),
    Case("costs_are_positive", CostsNothing, "take 0 requests"),
    Case("an_address_before_a_connection", ConnectsToNothing, "nothing exists"),
    Case("an_address_before_a_connection", NeverConnects, "no connection to it"),
    Case("a_connection_whatever_word_is_unknown", ConnectsToWhatIsKnownAlone, "not reached any"),
    Case("a_provider_id_that_stays", NamesNothing, "nothing exists"),
    Case("a_provider_id_that_stays", NamesNobody, "has no provider ID"),
    Case("a_provider_id_that_stays", NamesBarely, "not SCHEME://PLACE"),
    Case("a_provider_id_that_stays", NamesWhatIsSeen, "an observation lacks the machine"),
    Case("a_provider_id_that_stays", NamesAllAlike, "two machines have"),
    Case("secrets_stay_secret", TellsItsKey, "a secret is shown by"),
    Case("closing_twice_is_fine", ClosesOnce, "raised RuntimeError"),
    Case("creation_reaches_up", NeverStarts, "server off (off)"),
    Case("creation_reaches_up", TagsNothing, "without an owner tag"),
    Case("creating_calls_are_once_and_numbered", CreatesAgainAndAgain, "not *once*"),
    Case("nothing_is_left", ForgetsAddresses, "the world still has"),
    Case("absent_again_asks_nothing", DeletesWhatWas, "still wants server.delete"),
    Case("present_again_asks_nothing", StartsTheOldAgain, "a call was made"),
    Case("destroying_twice_is_done", GoneIsAnError, "is no Done"),
    Case("destroying_twice_is_done", TakesAllDown, "took something of another"),
    Case("next_calls_are_pure", Counts, "asked again"),
    Case("surplus_goes_and_the_bound_stays", KeepsSurplus, "left standing"),
    Case("surplus_goes_and_the_bound_stays", RemovesTheBound, "was "),
    Case("a_bound_slot_is_not_filled_again", FillsAgain, "its slot was filled again"),
    Case("all_pages_are_seen", FirstPageOnly, "are not seen"),
    Case("a_failed_page_keeps_the_rest", BrokenPageIsTheLast, "counts as seen whole"),
    Case("a_failed_page_keeps_the_rest", BrokenPageLosesAll, "only 0 were kept"),
    Case("a_machine_is_seen_alone", OwnerTagsAreNotListed, "does not show"),
    Case("foreign_resources_are_seen_and_left", HidesForeign, "is not shown"),
    Case(
        "foreign_resources_are_seen_and_left",
        TakesAllDown,
        "another installation's resource is gone",
    ),
    Case("every_status_has_a_meaning", LacksAWord, "no condition of ours"),
    Case("a_strange_status_changes_nothing", StrangeIsOff, "was taken for off"),
    Case("a_strange_status_changes_nothing", StrangeIsSilent, "not reported"),
    Case("a_strange_status_changes_nothing", StrangeIsDeleted, "next_calls wants server.delete"),
    Case("a_strange_status_changes_nothing", StrangeIsFatal, "raised ValueError"),
    Case("a_lost_answer_is_not_refused", LostIsRefused, "yet it is Refused"),
    Case("a_nonsense_answer_is_not_refused", LostIsRefused, "yet it is Refused"),
    Case("a_lost_request_is_not_done", LostIsDone, "yet it is Done"),
    Case("busy_passes_by_itself", BusyIsInvalid, "refused for good"),
    Case("busy_removals_pass_by_themselves", BusyIsInvalid, "refused for good"),
    Case("a_dead_outside_raises_nothing", DeadRaises, "raised ConnectionError"),
    Case("a_dead_outside_raises_nothing", DeadIsEmpty, "was seen whole"),
    Case("a_dead_outside_raises_nothing", LostIsDone, "is Done"),
    Case("creation_goes_on_after_a_death", ProgressInMemory, "was not reached"),
    Case("rollback_leaves_nothing", TagsNothing, "the world still has"),
    Case("cleaning_goes_on_after_a_death", ProgressInMemory, "was not reached"),
    Case("cleaning_passes_a_refused_resource", OneAfterTheOther, "stayed with it"),
    Case("a_vanished_machine_is_cleaned", NoServerNothingToDo, "was not reached"),
)


def _check(name: str) -> Check:
    return next(check for check in CHECKS if check.name == name)


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.name)
async def test_a_sound_provider_passes(check: Check) -> None:
    result = await run_check(check, files_world)
    assert result == Result(check.name, Verdict.PASSED), str(result)


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.check}-{case.make.__name__}")
async def test_a_broken_provider_is_found_out(case: Case) -> None:
    result = await run_check(_check(case.check), partial(files_world, case.make))
    assert result.verdict is Verdict.FAILED
    assert case.says in result.why


def test_every_check_is_shown_to_fire() -> None:
    assert {case.check for case in CASES} == {check.name for check in CHECKS}


async def test_all_checks_run_in_one_go() -> None:
    results = await run_all(files_world)
    assert [result.check for result in results] == [check.name for check in CHECKS]
    assert {result.verdict for result in results} == {Verdict.PASSED}
