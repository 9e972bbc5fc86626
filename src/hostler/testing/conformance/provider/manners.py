"""Manners: capabilities that make sense, costs, connections, and secrets that stay secret."""

import re
from datetime import timedelta

from msgspec.structs import replace

from hostler.domain.model.phases import Goal
from hostler.domain.model.resource import Condition, Scope

from .operator_actions import end, made_hand, new_hand
from .rig import Ability, Rig, need

_PROVIDER_ID = re.compile(r"(?=.{1,512}\Z)[a-z][a-z0-9+.-]*://[^\s/]\S*", re.ASCII)
"""A URI of at most 512 characters, which is what Kubernetes and Cluster API take."""


async def capabilities_are_sane(rig: Rig) -> None:
    """The capabilities can be reckoned with, and stay what they are."""
    provider = await rig.open()
    capabilities = provider.capabilities
    zero = timedelta(0)
    assert capabilities.kinds, "no kind of resource is named"
    assert capabilities.main.kind in capabilities.kinds, (
        f"the main kind {capabilities.main.kind} is not in `kinds`"
    )
    assert len(set(capabilities.kinds)) == len(capabilities.kinds), (
        f"a kind is named twice: {capabilities.kinds}"
    )
    assert capabilities.consistency_delay > zero, "consistency_delay must be longer than nothing"
    assert all(time > zero for _, time in capabilities.consistency_delays), (
        "each consistency_delay must be longer than nothing"
    )
    assert capabilities.deadline > zero, "the deadline of a call must be longer than nothing"
    paid = capabilities.hosts.paid_period if capabilities.hosts else None
    assert paid is None or paid >= zero, "the least paid time cannot be negative"
    assert capabilities.page >= 1, "a page shows at least one resource"
    assert rig.offer.zone in capabilities.zones, f"the zone {rig.offer.zone} is not in `zones`"
    assert provider.capabilities == capabilities, "the capabilities changed"


async def costs_are_positive(rig: Rig) -> None:
    """Every call and every observation takes at least one request.

    An observation of hosts may come along with that of the allocations on them.
    """
    hand = await made_hand(rig)
    await end(hand)
    along = hand.provider.capabilities.host_kind
    for asked in (*hand.journal.calls(), *hand.journal.scopes):
        cost = hand.provider.cost(asked)
        least = 0 if isinstance(asked, Scope) and asked.kind == along else 1
        assert cost >= least, f"{asked} is said to take {cost} requests"


async def an_address_before_a_connection(rig: Rig) -> None:
    """There is no connection before an address is known, and one when the machine is up."""
    hand = await new_hand(rig)
    early = hand.provider.connection(hand.machine, ())
    assert early is None, f"nothing exists, and yet there is a connection: {early}"
    await hand.reach(Goal.PRESENT)
    connection = hand.provider.connection(hand.machine, hand.resources)
    assert connection is not None, "the machine is up, and there is no connection to it"
    assert connection.address, "the machine is up, and its connection has no address"
    assert 0 < connection.port < 65536, f"the connection's port is {connection.port}"


async def a_connection_whatever_word_is_unknown(rig: Rig) -> None:
    """A word of the provider that nobody knows takes no address away: what runs is reached."""
    hand = await new_hand(rig)
    await hand.reach(Goal.PRESENT)
    known = hand.provider.connection(hand.machine, hand.resources)
    unknown = tuple(
        replace(one, condition=Condition.UNKNOWN, status="hibernating") for one in hand.resources
    )
    assert hand.provider.connection(hand.machine, unknown) == known, "it is not reached any more"


async def a_provider_id_that_stays(rig: Rig) -> None:
    """There is no provider ID before anything is bound; then there is one, for this machine alone.

    It does not depend on what an observation shows: a changed one means another Node.
    """
    hand = await new_hand(rig)
    early = hand.provider.provider_id(hand.machine, ())
    assert early is None, f"nothing exists, and yet there is a provider ID: {early}"
    await hand.reach(Goal.PRESENT)
    known = hand.provider.provider_id(hand.machine, hand.resources)
    assert known is not None, "the machine is up, and it has no provider ID"
    assert _PROVIDER_ID.fullmatch(known), f"it is not SCHEME://PLACE: {known!r}"
    unseen = hand.provider.provider_id(hand.machine, ())
    assert unseen == known, f"{known} is {unseen} where an observation lacks the machine"
    other = await made_hand(rig, 2)
    others = other.provider.provider_id(other.machine, other.resources)
    assert others != known, f"two machines have the provider ID {known}"


async def secrets_stay_secret(rig: Rig) -> None:
    """No call, observation or outcome of a whole life shows a secret."""
    need(rig, Ability.SECRETS)
    assert rig.secrets, "the rig names no secret to look for"
    hand = await made_hand(rig)
    await end(hand)
    journal = hand.journal
    printed = [*journal.made, *journal.asked, *journal.observations, hand.provider.capabilities]
    for thing in printed:
        for text in (repr(thing), str(thing)):
            for secret in rig.secrets:
                assert secret not in text, f"a secret is shown by a {type(thing).__name__}"


async def closing_twice_is_fine(rig: Rig) -> None:
    """A provider can be closed, used or not, and closed again."""
    provider = await rig.open()
    await provider.close()
    await provider.close()
