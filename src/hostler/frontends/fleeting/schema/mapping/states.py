"""States: which of fleeting's states a schema can say, and how it says each."""

from collections.abc import Mapping

from google.protobuf.descriptor import EnumDescriptor
from msgspec import Struct

from hostler.frontends.fleeting.contract import CORE, State
from hostler.frontends.fleeting.schema.vocabulary.enum_values import values
from hostler.frontends.fleeting.schema.vocabulary.synonyms import (
    READY,
    STATE_HINTS,
    STATES,
    UNSAID,
)

from .leaves import Leaf
from .match import Chosen, Level

StateValue = int | str


class Spoken(Struct, frozen=True, kw_only=True):
    """How each state is said, by number or text, and what stands against it.

    `reasons` by state where something is refused; `proposals` are values that an override may name.
    """

    written: Mapping[State, StateValue]
    names: Mapping[State, str]
    levels: Mapping[State, Level]
    reasons: Mapping[State, str]
    proposals: Mapping[State, str | None]
    others: tuple[str, ...] = ()

    @property
    def offered(self) -> frozenset[State]:
        """The states that may be told."""
        return frozenset(self.written)


def spoken(leaf: Leaf, chosen: Chosen, *, suspends: bool) -> Spoken:
    """Return how a field says states; `suspends`: the service has Suspend and Resume."""
    kind = leaf.field.enum_type
    if leaf.shape == "integer":
        return _plain_numbers(chosen)
    if kind is None:
        return _texts(chosen, suspends=suspends)
    return _numbers(kind, chosen)


def _texts(chosen: Chosen, *, suspends: bool) -> Spoken:
    """Return the states as lower-case texts: their spelling is a guess, and said to be one."""
    resting = frozenset({State.SUSPENDING, State.SUSPENDED, State.RESUMING})
    silent = UNSAID if suspends else UNSAID | resting
    written = {state: names[0] for state, names in STATES.items() if state not in silent}
    levels = dict.fromkeys(written, Level.NEUTRAL)
    reasons = dict[State, str]()
    for state in State:
        if state.value in chosen:
            _say_text(state, chosen[state.value], written, levels, reasons)
    return Spoken(written=written, names=written, levels=levels, reasons=reasons, proposals={})


def _say_text(
    state: State,
    text: str,
    written: dict[State, str],
    levels: dict[State, Level],
    reasons: dict[State, str],
) -> None:
    levels[state] = Level.OVERRIDE
    if text:
        written[state] = text
    else:
        written.pop(state, None)
        levels[state] = Level.ABSENT
        if state in CORE:
            reasons[state] = "the override says that there is none, but no schema works without it"


def _plain_numbers(chosen: Chosen) -> Spoken:
    """Return the states as plain numbers, every one of which the operator must have named."""
    written, reasons = dict[State, StateValue](), dict[State, str]()
    for state in State:
        text = chosen.get(state.value, "")
        if text.removeprefix("-").isdigit():
            written[state] = int(text)
        elif text or state in CORE:
            named = f"the override names {text!r}" if text else "its number is not known"
            reasons[state] = f"states are plain numbers here, and {named}"
    for one, other in _shared({state: int(number) for state, number in written.items()}):
        reasons[one] = f"{one} and {other} are the same number"
    return Spoken(
        written=written,
        names={state: str(number) for state, number in written.items()},
        levels=dict.fromkeys(written, Level.OVERRIDE),
        reasons=reasons,
        proposals=dict.fromkeys(reasons),
        others=("NUMBER",),
    )


def _numbers(kind: EnumDescriptor, chosen: Chosen) -> Spoken:
    """Return the states of an enum by whole words."""
    known = values(kind)
    found = {state: _number(kind, known, state, chosen) for state in State}
    proposals = {
        state: None if any(word in known for word in STATES[state]) else _proposal(known, state)
        for state, (written, _, _, _) in found.items()
        if written is None
    }
    reasons = {state: reason for state, (_, _, _, reason) in found.items() if reason}
    written = {state: number for state, (number, _, _, _) in found.items() if number is not None}
    for one, other in _shared(written):
        reasons[one] = f"{one} and {other} are the same number"
    return Spoken(
        written=written,
        names={state: found[state][1] for state in written},
        levels={state: level for state, (_, _, level, _) in found.items()},
        reasons=reasons,
        proposals={state: proposals.get(state) for state in State if state in reasons},
        others=tuple(v.name for v in kind.values if v.number not in written.values()),
    )


def _number(
    kind: EnumDescriptor,
    known: Mapping[str, tuple[tuple[str, int], ...]],
    state: State,
    chosen: Chosen,
) -> tuple[int | None, str, Level, str]:
    """Return a state's number, its name, how sure that is, and what stands against it."""
    if state.value in chosen:
        return _chosen_number(kind, state, chosen[state.value])
    meant = [pair for word in STATES[state] for pair in known.get(word, ())]
    numbers = {number for _, number in meant}
    ready = [pair for word in READY if state is State.RUNNING for pair in known.get(word, ())]
    if numbers and {number for _, number in ready} - numbers:
        meant, numbers = [*meant, *sorted(ready)], {*numbers, *(number for _, number in ready)}
    if len(numbers) == 1:
        return meant[0][1], meant[0][0], Level.EXACT, ""
    if numbers:
        return None, "", Level.REFUSED, f"{', '.join(n for n, _ in meant)} could all be meant"
    if state in CORE:
        listed = ", ".join(value.name for value in kind.values)
        return None, "", Level.REFUSED, f"{kind.full_name} has no {state}: {listed}"
    return None, "", Level.ABSENT, ""


def _chosen_number(
    kind: EnumDescriptor, state: State, name: str
) -> tuple[int | None, str, Level, str]:
    if not name and state not in CORE:
        return None, "", Level.ABSENT, ""
    number = next((value.number for value in kind.values if value.name == name), None)
    if number is None:
        listed = ", ".join(value.name for value in kind.values)
        reason = f"the override names {name!r}, and {kind.full_name} has {listed}"
        return None, "", Level.REFUSED, reason
    return number, name, Level.OVERRIDE, ""


def _proposal(known: Mapping[str, tuple[tuple[str, int], ...]], state: State) -> str | None:
    """Return the value to propose; None where a person must choose."""
    hinted = [pair for word in STATE_HINTS.get(state, ()) for pair in known.get(word, ())]
    return hinted[0][0] if len(hinted) == 1 else None


def _shared(written: Mapping[State, int]) -> list[tuple[State, State]]:
    """Return pairs of states that one number would say."""
    order = list(written)
    return [
        (other, one)
        for place, one in enumerate(order)
        for other in order[place + 1 :]
        if written[one] == written[other]
    ]
