"""Reporting: the messages in which Update tells of instances, made quickly."""

from collections.abc import Callable, Mapping, MutableMapping, Sequence
from typing import cast

from google.protobuf.descriptor import FieldDescriptor, MethodDescriptor
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass

from hostler.frontends.fleeting.contract import Instance, State
from hostler.frontends.fleeting.schema.mapping.instances import Entries
from hostler.frontends.fleeting.schema.mapping.leaves import Leaf, is_map
from hostler.frontends.fleeting.schema.mapping.states import Spoken, StateValue

from .fields import Repeated, get, holder

Report = Callable[[Sequence[Instance]], Sequence[Message]]
Fill = Callable[[Message, Instance], None]


def reporter(entries: Entries, states: Spoken, method: MethodDescriptor) -> Report:
    """Return what makes Update's answer: one message, or for a stream of instances one for each."""
    made: type[Message] = GetMessageClass(method.output_type)
    ids, state = entries.matches["id"].leaf, entries.matches["state"].leaf
    if ids is None or state is None:
        raise TypeError("the answer of Update is not mapped")
    if entries.at is None:
        return _singles(made, _fill(ids.path, state.path, states.written))
    at = entries.at
    listed = ids.path[at]
    if is_map(listed):
        return _mapped(made, ids.path[: at + 1], state.path[at + 2 :], states.written)
    fill = _fill(ids.path[at + 1 :], state.path[at + 1 :], states.written)
    return _listed(made, ids.path[: at + 1], fill)


def _singles(made: type[Message], fill: Fill) -> Report:
    """Return what makes a message an instance; those of the last time are used again."""
    last = dict[Instance, Message]()

    def report(instances: Sequence[Instance]) -> Sequence[Message]:
        nonlocal last
        now = dict[Instance, Message]()
        for instance in instances:
            message = last.get(instance)
            if message is None:
                message = made()
                fill(message, instance)
            now[instance] = message
        last = now
        return tuple(now.values())

    return report


def _listed(made: type[Message], path: Sequence[FieldDescriptor], fill: Fill) -> Report:
    def report(instances: Sequence[Instance]) -> Sequence[Message]:
        reply = made()
        around = holder(reply, path[:-1])
        around.SetInParent()
        add = cast("Repeated", get(around, path[-1])).add
        for instance in instances:
            fill(add(), instance)
        return (reply,)

    return report


def _mapped(
    made: type[Message],
    path: Sequence[FieldDescriptor],
    behind: Sequence[FieldDescriptor],
    written: Mapping[State, StateValue],
) -> Report:
    """Return what fills a map of states, or of messages with a state."""

    def report(instances: Sequence[Instance]) -> Sequence[Message]:
        reply = made()
        around = holder(reply, path[:-1])
        around.SetInParent()
        found = get(around, path[-1])
        if behind:
            entries = cast("Mapping[str, Message]", found)
            for one in instances:
                setattr(holder(entries[one.id], behind[:-1]), behind[-1].name, written[one.state])
        else:
            values = cast("MutableMapping[str, StateValue]", found)
            for one in instances:
                values[one.id] = written[one.state]
        return (reply,)

    return report


def _fill(
    ids: tuple[FieldDescriptor, ...],
    states: tuple[FieldDescriptor, ...],
    written: Mapping[State, StateValue],
) -> Fill:
    """Return what writes one instance into a message; the usual, flat one is quickest."""
    own, state = ids[-1].name, states[-1].name
    if len(ids) == len(states) == 1 and not Leaf(ids).wrapped and not Leaf(states).wrapped:

        def flat(message: Message, instance: Instance) -> None:
            setattr(message, own, instance.id)
            setattr(message, state, written[instance.state])

        return flat

    set_id, set_state = _setter(Leaf(ids)), _setter(Leaf(states))

    def deep(message: Message, instance: Instance) -> None:
        set_id(message, instance.id)
        set_state(message, written[instance.state])

    return deep


def _setter(leaf: Leaf) -> Callable[[Message, StateValue], None]:
    """Return what sets a nested or wrapped value."""
    around, name = [field.name for field in leaf.path[:-1]], leaf.field.name
    if leaf.wrapped:
        around, name = [*around, name], "value"

    def write(message: Message, value: StateValue) -> None:
        at: object = message
        for one in around:
            at = getattr(at, one)
        setattr(at, name, value)

    return write
