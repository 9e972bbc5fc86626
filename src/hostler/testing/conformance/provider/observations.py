"""Observations: what they must show, page by page, and whose things they must leave alone."""

from collections.abc import Mapping

from msgspec.structs import replace

from hostler.domain.ids import InstallationId, ResourceId, machine_id
from hostler.domain.model.calls import Call, Effect
from hostler.domain.model.host import host_of
from hostler.domain.model.machine import Machine
from hostler.domain.model.phases import Goal, Phase
from hostler.domain.model.resource import Condition, Observation, OwnerTag, Resource, Scope
from hostler.ports.provider import Provider

from .operator_actions import end, made_hand
from .recorded import is_recorded, observe
from .rig import Ability, Rig, need

HOSTILE = (
    "wibble",
    "RUNNING ",
    "stopped; rm -rf /",
    "\u202egninnur",
    "zombie\u0000",
    "💥" * 40,
    "x" * 5000,
    "",
)
"""Words that no table knows; the empty one counts as a status that is missing."""


def _whole(rig: Rig, provider: Provider) -> Scope:
    return Scope(rig.offer.zone, provider.capabilities.main.kind)


def _owner_tag(rig: Rig, number: int, installation: InstallationId | None = None) -> OwnerTag:
    return OwnerTag(
        installation=installation or rig.installation,
        fleet=rig.fleet,
        machine=machine_id(104_729 * number),
        attempt=1,
    )


def _by_id(observation: Observation) -> dict[ResourceId, Resource]:
    return {resource.id: resource for resource in observation.resources}


async def _observed(
    rig: Rig, provider: Provider, scopes: tuple[Scope, ...], planted: Mapping[ResourceId, OwnerTag]
) -> Observation:
    """Observe with the machines of what was planted in our records, where those must tell it."""
    machines = (_tenant(rig, resource, tag) for resource, tag in planted.items())
    return await observe(provider, scopes, rig.installation, machines)


def _tenant(rig: Rig, resource: ResourceId, owner_tag: OwnerTag) -> Machine:
    now = rig.clock.now()
    return Machine(
        id=owner_tag.machine,
        fleet=owner_tag.fleet,
        serial=1,
        created=now,
        since=now,
        phase=Phase.READY,
        offer=rig.offer,
        host=host_of(resource),
    )


async def all_pages_are_seen(rig: Rig) -> None:
    """Machines on three full pages and one more are all seen, and the scope is complete."""
    need(rig, Ability.PLANT)
    provider = await rig.open()
    owner_tags = [_owner_tag(rig, number) for number in range(3 * rig.page + 1)]
    planted = {await rig.plant(owner_tag): owner_tag for owner_tag in owner_tags}
    observation = await _observed(rig, provider, (_whole(rig, provider),), planted)
    assert all(observed.complete for observed in observation.observed), (
        f"incomplete: {observation.observed}"
    )
    observed = _by_id(observation)
    missed = planted.keys() - observed.keys()
    assert not missed, f"{len(missed)} of {len(planted)} on {rig.page} a page are not seen"
    for resource, owner_tag in planted.items():
        expected = _written(owner_tag, provider)
        assert observed[resource].owner_tag == expected, (
            f"{resource} carries {expected}, and is seen as {observed[resource].owner_tag}"
        )


def _written(owner_tag: OwnerTag, provider: Provider) -> OwnerTag:
    """Return an owner tag as it can be written: the name of a host has no place for an attempt."""
    return replace(owner_tag, attempt=0) if provider.capabilities.hosts else owner_tag


async def a_failed_page_keeps_the_rest(rig: Rig) -> None:
    """A page that fails makes its scope incomplete; what other pages showed is kept."""
    need(rig, Ability.PLANT, Ability.PAGES)
    provider = await rig.open()
    owner_tags = [_owner_tag(rig, number) for number in range(3 * rig.page + 1)]
    planted = {await rig.plant(owner_tag): owner_tag for owner_tag in owner_tags}
    await rig.fail_page(2)
    whole = _whole(rig, provider)
    observation = await _observed(rig, provider, (whole,), planted)
    observed = next(one for one in observation.observed if one.scope == whole)
    assert not observed.complete, "page 2 failed, and the scope counts as seen whole"
    assert observed.error, "page 2 failed, and no error says so"
    seen = planted.keys() & _by_id(observation).keys()
    assert len(seen) >= rig.page, f"page 2 failed, and of page 1 only {len(seen)} were kept"


async def a_machine_is_seen_alone(rig: Rig) -> None:
    """Observing one machine finds what carries its owner tag, and lacks a known id that is gone.

    Where its ids are asked for alone, they are shown, or lacked, all the same.
    """
    need(rig, Ability.PLANT, Ability.REMOVE)
    provider = await rig.open()
    present, absent, other = _owner_tag(rig, 1), _owner_tag(rig, 2), _owner_tag(rig, 3)
    here, away, third = await rig.plant(present), await rig.plant(absent), await rig.plant(other)
    planted = {here: present, away: absent, third: other}
    await rig.remove(away)
    kind = provider.capabilities.main.kind
    by_owner_tag = Scope(rig.offer.zone, kind, present.machine)
    by_id = Scope(rig.offer.zone, kind, present.machine, (here,))
    missing = Scope(rig.offer.zone, kind, absent.machine, (away,))
    recorded = is_recorded(provider.capabilities)  # then no tag is written that could be listed
    by_itself = replace(by_id, alone=True)
    for scope in (by_id, by_itself) if recorded else (by_owner_tag, by_id, by_itself):
        observation = await _observed(rig, provider, (scope,), planted)
        assert all(observed.complete for observed in observation.observed), (
            f"{scope} is incomplete: {observation}"
        )
        assert here in _by_id(observation), f"{scope} does not show {here}"
    for scope in (missing, replace(missing, alone=True)):
        observation = await _observed(rig, provider, (scope,), planted)
        assert all(observed.complete for observed in observation.observed), (
            f"{scope} is incomplete: {observation}"
        )
        assert away not in _by_id(observation), f"{away} was taken away, and {scope} shows it"


async def foreign_resources_are_seen_and_left(rig: Rig) -> None:
    """Another installation's resource is shown with its owner tag, and no call is aimed at it."""
    need(rig, Ability.PLANT, Ability.FOREIGN)
    stranger = InstallationId("stranger1")
    provider = await rig.open()
    foreign = await rig.plant(_owner_tag(rig, 1, stranger))
    observed = _by_id(await provider.observe((_whole(rig, provider),))).get(foreign)
    assert observed is not None, "a resource of another installation is not shown"
    assert observed.owner_tag is not None, (
        "a resource of another installation is shown without its owner tag"
    )
    assert observed.owner_tag.installation == stranger, (
        f"its owner tag is shown as {observed.owner_tag}"
    )
    hand = await made_hand(rig)
    await end(hand)
    aimed = [str(call) for call in hand.journal.calls() if call.target == foreign]
    assert not aimed, f"calls were aimed at another installation's resource: {aimed}"
    left = {thing.id for thing in await rig.things()}
    assert foreign in left, "another installation's resource is gone after our own machine's end"


async def every_status_has_a_meaning(rig: Rig) -> None:
    """Each status that the provider documents has a condition, and nothing raises on it."""
    need(rig, Ability.WORDS)
    hand = await made_hand(rig)
    main = hand.main
    assert main is not None
    assert rig.words, "the rig names no status of its provider"
    for word in rig.words:
        await rig.say(main.id, word)
        observation = await hand.observe()
        resource = _by_id(observation).get(main.id)
        assert resource is not None, f"a resource with the status {word!r} is not shown"
        assert resource.status == word, f"the status {word!r} is shown as {resource.status!r}"
        known = resource.condition is not Condition.UNKNOWN
        assert known, f"the documented status {word!r} has no condition of ours"
        assert not observation.strange, f"the documented status {word!r} is reported as strange"
        for goal in Goal:
            hand.ask(goal)


async def a_strange_status_changes_nothing(rig: Rig) -> None:
    """A status that no table knows is reported, and neither made good nor cleaned away."""
    need(rig, Ability.WORDS)
    hand = await made_hand(rig)
    main = hand.main
    assert main is not None
    for word in HOSTILE:
        await rig.say(main.id, word)
        observation = await hand.observe()
        assert all(observed.complete for observed in observation.observed), (
            f"{word[:40]!r}: {observation.observed}"
        )
        resource = _by_id(observation).get(main.id)
        assert resource is not None, f"a resource with the status {word[:40]!r} is not shown"
        assert resource.condition is Condition.UNKNOWN, (
            f"{word[:40]!r} was taken for {resource.condition}"
        )
        assert observation.strange, (
            f"the unknown status {word[:40]!r} is not reported in Observation.strange"
        )
        for goal in Goal:
            _leaves_alone(hand.ask(goal), goal, resource, word)


def _leaves_alone(calls: tuple[Call, ...], goal: Goal, resource: Resource, word: str) -> None:
    """Where it is to go anyway, the provider's own word that it may be asked is enough."""
    permitted = goal is Goal.ABSENT and bool(resource.allowed)
    for call in calls:
        aimed = call.target == resource.id and call.effect is Effect.DESTROY and not permitted
        made = call.slot == resource.slot and call.effect is Effect.MAKE
        harmless = not aimed and not made
        assert harmless, f"on the unknown status {word[:40]!r} next_calls wants {call}"
