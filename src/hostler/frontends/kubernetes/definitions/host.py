"""The kind Host: a machine of one's own: the ways to its power, and how it stands. Pure."""

from hostler.config.node_tables import HostNodeTable

from .custom import (
    AGE,
    OBSERVED,
    Column,
    CustomKind,
    Names,
    Rule,
    condition_column,
    conditions,
    count,
    date,
    text,
)
from .schema import Fields, Schema, fields_in_object
from .sections import Kinds, hosts, in_sections, one_section

NAMES = Names(kind="Host", plural="hosts", short=("hhost", "hh"))
ABOUT = (
    "A host that outlives its machines, such as a box in a rack, with the ways to its power. It is "
    "one entry of the list of hosts that a provider has in hostler's file, under the object's name."
)
NAME_RULE = Rule(
    holds="self.metadata.name.size() <= 63",
    expected="a name of at most 63 characters",
)
COLUMNS = (
    Column(name="Provider", path=".spec.provider"),
    Column(name="Desired", path=".spec.desiredPowerState"),
    Column(name="Power", path=".status.power"),
    Column(name="Progress", path=".status.progress"),
    Column(name="Fleet", path=".status.fleet"),
    Column(name="Node", path=".status.node.readiness"),
    Column(name="Machine", path=".status.machine", priority=1),
    Column(name="Phase", path=".status.phase", priority=1),
    Column(name="Reachable", path=".status.reachability", priority=1),
    Column(name="Operation", path=".status.operation.kind", priority=1),
    condition_column("Accepted", "Accepted", priority=1),
    AGE,
)


def host_kind(kinds: Kinds) -> CustomKind:
    """Return the kind, with a section for each kind of provider that has a list of hosts."""
    found = hosts(kinds)
    names = dict.fromkeys(found, "name")
    return CustomKind(
        names=NAMES,
        about=ABOUT,
        spec=Fields(properties=_SPEC, required=("provider",)).with_others(
            in_sections(found, names)
        ),
        status=Fields(properties=_STATUS),
        columns=COLUMNS,
        rules=(one_section(found),),
        name_rules=(NAME_RULE,),
        selectable=(".spec.provider",),
    )


_MAINTENANCE: Schema = {
    "type": "object",
    "description": "A person works on it: no machine takes it, and nothing switches it, until this "
    "is taken out.",
    "properties": {
        "reason": {
            "type": "string",
            "minLength": 1,
            "maxLength": 1024,
            "description": "Why; it is in the history of the host.",
        }
    },
    "required": ["reason"],
}
_SPEC: dict[str, Schema] = {
    "provider": text("The Provider that it belongs to."),
    "secretName": text("The Secret of this namespace whose keys its methods name."),
    "desiredPowerState": text(
        "Whether it is to be on or off while no machine has it. Default: as its provider's "
        "settings have it, off where nobody needs it.",
        "on",
        "off",
    ),
    "maintenance": _MAINTENANCE,
    "deletionPolicy": text(
        "What becomes of its power when this object is deleted and no machine has the host any "
        "more: left as it is, or switched on or off first. Default: leave.",
        "leave",
        "on",
        "off",
    ),
    **fields_in_object(HostNodeTable).properties,
}
_OPERATION: Schema = {
    "type": "object",
    "description": "What is being done to its power.",
    "properties": {
        "kind": text("scale-up or scale-down."),
        "owner": text("Who does it: a machine's id, or the engine."),
        "since": date("Since when."),
        "until": date("By when it counts as failed."),
    },
}
_MOVES: Schema = {
    "type": "array",
    "description": "The phases that this machine may come to next, as `hostler explain` has them.",
    "items": {"type": "string"},
    "x-kubernetes-list-type": "atomic",
}
_NODE: Schema = {
    "type": "object",
    "description": "The Node of that machine, where its fleet has `node.managed`.",
    "properties": {
        "name": text("Its name."),
        "readiness": text(
            "Whether it can run Pods; silent: its kubelet says nothing any more.",
            "ready",
            "not ready",
            "silent",
        ),
        "since": date("Since when."),
    },
}
_STATUS: dict[str, Schema] = {
    "observedGeneration": OBSERVED,
    "power": text("What was last read of its power.", "on", "off", "unknown"),
    "reachability": text(
        "Whether its machine's address answered the readiness probe that was made last; unknown "
        "while it is off, and where its fleet makes no probe.",
        "reachable",
        "unreachable",
        "unknown",
    ),
    "reachedAt": date("When a probe began that passed, last."),
    "progress": text(
        "Where it stands between off and on.", "shutdown", "startingup", "ready", "shuttingdown"
    ),
    "machine": text("The machine that has it."),
    "fleet": text("The fleet of that machine."),
    "phase": text("The phase of that machine."),
    "condition": text("What its record says: free, allocated, dirty and so on."),
    "moves": _MOVES,
    "node": _NODE,
    "operation": _OPERATION,
    "tries": count("How often the operation was tried so far."),
    "retryAt": date("When the next try may begin."),
    "lastFailure": text("Why the last operation failed."),
    "next": text("What comes next, as `hostler explain` says it."),
    "lastTransitionTime": date("Since when it stands so."),
    "conditions": conditions(
        "Accepted: the spec is right, and its provider has it. Deleting: what the object waits for."
    ),
}
