"""Mapping: our calls laid onto one service of a schema, whole or refused with all reasons."""

from collections.abc import Iterator, Mapping, Sequence

from google.protobuf.descriptor import Descriptor, FieldDescriptor, MethodDescriptor
from msgspec import Struct
from msgspec.structs import replace

from hostler.frontends.fleeting.contract import State
from hostler.frontends.fleeting.schema.vocabulary.messages import OF_CALLS
from hostler.frontends.fleeting.schema.vocabulary.names import (
    CORE_METHODS,
    METHODS,
    OPAQUE,
    REPLY,
    REQUEST,
    SLOTS,
)
from hostler.frontends.fleeting.schema.vocabulary.naming import words
from hostler.frontends.fleeting.schema.vocabulary.slots import Kind
from hostler.frontends.fleeting.schema.vocabulary.synonyms import NEVER

from .absence import has_default, unset_text
from .accounting import Unaccounted, unaccounted
from .fixed import Fixed, Unfit, fixed, named_field
from .instances import Entries, shape
from .leaves import Leaf, leaves
from .match import Level, Match, match
from .override import ALWAYS, UNUSED, Override
from .placing import Message
from .services import Service
from .states import Spoken, spoken
from .times import guessed, same_terms, too_small


class CallMap(Struct, frozen=True, kw_only=True):
    """One call: its method, a match for each logical field, and what was left alone.

    `unaccounted` are the fields of which nobody knows what they say or ask; `fixed` those that the
    operator has settled; `faults` what is wrong with that.
    """

    name: str
    method: MethodDescriptor
    request: Mapping[str, Match]
    reply: Mapping[str, Match]
    extra: Mapping[str, tuple[Leaf, ...]]
    unaccounted: tuple[Unaccounted, ...] = ()
    fixed: tuple[Fixed, ...] = ()
    faults: tuple[str, ...] = ()

    def leaf(self, side: str, name: str) -> Leaf | None:
        """Return the field for a logical one, or None where there is none."""
        found = (self.request if side == REQUEST else self.reply).get(name)
        return found.leaf if found is not None else None


class ServiceMap(Struct, frozen=True, kw_only=True):
    """One service laid open: whole, if nothing is refused."""

    service: Service
    override: Override
    calls: Mapping[str, CallMap]
    entries: Entries | None
    states: Spoken | None
    faults: tuple[str, ...]

    @property
    def name(self) -> str:
        """The full name of the service."""
        return self.service.name

    @property
    def whole(self) -> bool:
        """Whether it may be served."""
        unknown = any(call.unaccounted for call in self.calls.values())
        return not self.faults and not unknown and not any(True for _ in self.refused())

    @property
    def offered(self) -> frozenset[State]:
        """The states that may be told."""
        return self.states.offered if self.states else frozenset()

    def matches(self) -> Iterator[tuple[str, str, Match]]:
        """Go through all matches, with their call and side."""
        for name, call in self.calls.items():
            for side, found in ((REQUEST, call.request), (REPLY, call.reply)):
                for one in found.values():
                    yield name, side, one

    def refused(self) -> Iterator[str]:
        """Go through what stands in the way, in a line each."""
        for call, side, found in self.matches():
            if found.refused:
                yield f"{call}.{side}.{found.slot.name}: {found.reason}"
        for name, call_map in self.calls.items():
            for one in call_map.unaccounted:
                if not one.candidate:
                    yield f"{name}.{one.side}.{one.name}: {one.reason}"
        if self.states is None:
            return
        for state, reason in self.states.reasons.items():
            yield f"states.{state}: {reason}"


def map_service(service: Service, override: Override) -> ServiceMap:
    """Return a service with everything found out about it; what is missing is in it as refused."""
    suspends = all(name in service.methods for name in ("Suspend", "Resume"))
    calls, entries = dict[str, CallMap](), None
    for name in METHODS:
        if method := service.methods.get(name):
            calls[name], ways = _call(name, method, service.name, override)
            entries = ways or entries
    _settle_terms(calls)
    calls = {name: _accounted(call, service.name, override) for name, call in calls.items()}
    state = calls["Update"].leaf(REPLY, "state") if "Update" in calls else None
    state_names = override.states(service.name)
    return ServiceMap(
        service=service,
        override=override,
        calls=calls,
        entries=entries,
        states=spoken(state, state_names, suspends=suspends) if state else None,
        faults=tuple(_faults(service, calls)),
    )


def _accounted(call: CallMap, service: str, override: Override) -> CallMap:
    """Return a call with the fields of which nobody knows what they say or ask."""
    unused = override.beside(service, call.name, REQUEST)
    always = override.beside(service, call.name, REPLY)
    request, answer = call.method.input_type, call.method.output_type
    faults = [
        f"{call.name}.{REQUEST}.{UNUSED}: the message has no field {name}"
        for name in unused
        if not named_field(request, name)
    ]
    try:
        settled = tuple(fixed(answer, always))
    except Unfit as error:
        settled, faults = (), [*faults, f"{call.name}.{REPLY}.{ALWAYS}: {error}"]
    return replace(
        call,
        unaccounted=(
            *unaccounted(request, REQUEST, call.request, unused),
            *unaccounted(answer, REPLY, call.reply, always, streams=call.method.server_streaming),
        ),
        fixed=settled,
        faults=(*faults, *_displaced(call, settled)),
    )


def _displaced(call: CallMap, settled: Sequence[Fixed]) -> Iterator[str]:
    """Go through what the operator settled that would take a field of ours out of its oneof."""
    ours = [one.leaf for one in call.reply.values() if one.leaf is not None]
    for one in settled:
        last = one.path[-1]
        absent = one.value is False and (last.is_repeated or last.message_type is not None)
        for at, field in enumerate(() if absent else one.path):
            oneof = field.containing_oneof
            for other in oneof.fields if oneof is not None else ():
                taken = (*one.path[:at], other)
                if other is not field and any(_starts(leaf.path, taken) for leaf in ours):
                    yield (
                        f"{call.name}.{REPLY}.{ALWAYS}: {one.name} cannot always be there:"
                        f" {other.name} is of the same oneof"
                    )


def _call(
    name: str, method: MethodDescriptor, service: str, override: Override
) -> tuple[CallMap, Entries | None]:
    """Return one call, and for Update the way in which instances are told."""
    known = _known(name, method)
    request = match(
        Message(leaves=leaves(method.input_type), known=known),
        SLOTS[name, REQUEST],
        override.message(service, name, REQUEST),
    )
    chosen, entries = override.message(service, name, REPLY), None
    if name == "Update":
        found = shape(method, chosen, known)
        reply, entries = found.matches, found.entries
    else:
        message = Message(leaves=leaves(method.output_type), known=known, answer=True)
        reply = match(message, SLOTS[name, REPLY], chosen)
        reply = _addressed(reply) if name == "ConnectInfo" else reply
    extra = _extras(method, request, reply)
    call = CallMap(name=name, method=method, request=dict(request), reply=dict(reply), extra=extra)
    return call, entries


def _known(name: str, method: MethodDescriptor) -> frozenset[str]:
    """Return the words that the messages of a call may be named by: the schema's own among them.

    A word of the service or the package says nothing only where it is in the names of several
    calls: `Deficit` is not harmless for standing in a package named `deficit`.
    """
    service = method.containing_service
    house = {*words(service.name), *words(service.file.package)}
    used = [set(_type_words(one)) for one in service.methods]
    own = {*words(method.name), *(w for w in house if sum(w in one for one in used) > 1)}
    return OF_CALLS[name] | (own - NEVER)


def _type_words(method: MethodDescriptor) -> Iterator[str]:
    """Go through the words in the names of a method's messages."""
    yield from words(method.input_type.name)
    yield from words(method.output_type.name)


def _addressed(reply: Mapping[str, Match]) -> Mapping[str, Match]:
    """Return the matches of ConnectInfo's answer, refused where it has no address at all."""
    external, internal = reply["external"], reply["internal"]
    if external.leaf is not None or internal.leaf is not None:
        return reply
    return {
        **reply,
        **{
            one.slot.name: replace(
                one, level=Level.REFUSED, reason=one.reason or "no address at all has a field"
            )
            for one in (external, internal)
            if not one.refused
        },
    }


def _settle_terms(calls: dict[str, CallMap]) -> None:
    """Lower what is a guess about times, and take out durations that nobody can convert."""
    if "ConnectInfo" not in calls or "Init" not in calls:
        return
    call, reply = calls["ConnectInfo"], dict(calls["ConnectInfo"].reply)
    reply["expires"] = _end(reply["expires"])
    for name in ("expires", *OPAQUE):
        answer, asked_of = reply[name].leaf, name in OPAQUE and calls["Init"].leaf(REQUEST, name)
        if answer is not None and has_default(answer.field) and not asked_of:
            why = f"{answer.name} says {unset_text(answer.field)} where there is nothing to say"
            reply[name] = replace(reply[name], level=Level.ABSENT, leaf=None, reason=why)
    for name in OPAQUE:
        both = (calls["Init"].request[name], reply[name])
        asked, answer = (one.leaf for one in both)
        alike = all(one.level is Level.EXACT for one in both)
        if asked is not None and answer is not None and not same_terms(asked, answer, alike=alike):
            why = f"{answer.name} is {answer.type}, in Init {asked.type}, and the unit is not known"
            reply[name] = replace(
                reply[name], level=Level.ABSENT, leaf=None, unsaid=answer, reason=why
            )
    calls["ConnectInfo"] = replace(
        call, reply=reply, extra=_extras(call.method, call.request, reply)
    )


def _end(found: Match) -> Match:
    """Return the match of a moment: lowered where its encoding is a guess, or it cannot be told."""
    leaf = found.leaf
    if leaf is None:
        return found
    if too_small(leaf):
        why = f"{leaf.name} is {leaf.type}, too small for its unit"
        return replace(found, level=Level.REFUSED, leaf=None, reason=why)
    why = guessed(leaf) if found.level is Level.EXACT else ""
    return replace(found, level=Level.NEUTRAL, reason=why) if why else found


def _extras(
    method: MethodDescriptor, request: Mapping[str, Match], reply: Mapping[str, Match]
) -> Mapping[str, tuple[Leaf, ...]]:
    return {
        REQUEST: _extra(method.input_type, request),
        REPLY: _extra(method.output_type, reply),
    }


def _extra(message: Descriptor, found: Mapping[str, Match]) -> tuple[Leaf, ...]:
    """Return the fields that nothing of ours is in."""
    used = {m.leaf.name for m in found.values() if m.leaf is not None}
    lists = tuple(f"{name}." for name in used)
    return tuple(
        leaf
        for leaf in leaves(message)
        if leaf.name not in used and not (leaf.in_map and leaf.name.startswith(lists))
    )


def _faults(service: Service, calls: Mapping[str, CallMap]) -> Iterator[str]:
    """Go through what stands in the way beside fields."""
    for name in CORE_METHODS:
        if name not in calls:
            yield f"{service.name} has no method {name}"
    for name, call in calls.items():
        method = call.method
        if method.client_streaming:
            yield f"{name}: the requests come as a stream, which is nothing that we know"
        if method.server_streaming and name != "Update":
            yield f"{name}: the answers go as a stream, which is known of Update only"
        yield from _unsent(name, call)
        yield from call.faults
    if "Update" in calls and not calls["Update"].reply:
        yield "Update: its answer holds nothing"


def _unsent(name: str, call: CallMap) -> Iterator[str]:
    """Go through required fields of an answer that are ours, and that we could not always fill."""
    for one in call.reply.values():
        at_times = one.slot.kind in {Kind.TIME, Kind.OPAQUE}
        if at_times and one.leaf is not None and one.leaf.field.is_required:
            yield f"{name}.{REPLY}: {one.leaf.name} is required, and not always known"


def _starts(path: tuple[FieldDescriptor, ...], start: tuple[FieldDescriptor, ...]) -> bool:
    names = tuple(field.full_name for field in path[: len(start)])
    return names == tuple(field.full_name for field in start)


def below_exact(found: ServiceMap) -> Iterator[str]:
    """Go through what is less than exact, in a line each, for the log and for operators."""
    for call in found.calls.values():
        for fixed_ in call.fixed:
            yield f"{Level.OVERRIDE}: {call.name}.{REPLY}.{fixed_.name} is always {fixed_.value!r}"
    for call, side, one in found.matches():
        if one.level in {Level.NEUTRAL, Level.OVERRIDE} and one.leaf is not None:
            why = f": {one.reason}" if one.reason else ""
            yield f"{one.level}: {call}.{side}.{one.slot.name} is {one.leaf.name}{why}"
        elif one.level is Level.ABSENT and one.settled:
            yield f"{Level.OVERRIDE}: {call}.{side}.{one.slot.name} is declared to be nowhere"
    if found.states is None:
        return
    for state, level in found.states.levels.items():
        if level in {Level.NEUTRAL, Level.OVERRIDE} and state in found.states.names:
            guess = ", the usual spelling of a text" if level is Level.NEUTRAL else ""
            yield f"{level}: states.{state} is {found.states.names[state]}{guess}"
