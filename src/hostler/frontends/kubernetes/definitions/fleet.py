"""The kind Fleet: what a [fleet.NAME] table of the file is, and how it stands. Pure."""

from hostler.config.tables import FleetTable

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
    text,
)
from .schema import Fields, Schema, fields_in_object
from .sections import Kinds, in_sections, one_section, templates

NAMES = Names(kind="Fleet", plural="fleets", short=("hfleet", "hf"))
ABOUT = (
    "A fleet: so many machines of one provider, kept as they are asked for. It is what a "
    "[fleet.NAME] table is in hostler's file."
)

PAUSED: Schema = {
    "type": "boolean",
    "description": "Observe it and change nothing, until this is false again. Default: false.",
}
SECRET_NAME: Schema = {
    "type": "string",
    "maxLength": 253,
    "description": "The Secret of this namespace whose keys other fields name. Default: the "
    "Secret of its provider.",
}
DELETION_POLICY: Schema = {
    "type": "string",
    "enum": ["leave", "end"],
    "description": "What becomes of its machines when this object is deleted. `leave`: they stay "
    "as they are, are looked at, and stay on the bill, until somebody ends them or makes a Fleet "
    "of this name again. `end`: they end, and the object stays until they have. Default: leave.",
}
POLICY = "deletionPolicy"

PROBE = "has(self.ready)"
NAME_RULES = (
    Rule(
        holds="self.metadata.name.matches('^[a-z0-9]([a-z0-9-]{0,38}[a-z0-9])?$')",
        expected="a name of at most 40 lower-case letters, digits and inner dashes: it is put "
        "into tags",
    ),
)
RULES = (
    Rule(
        holds="!has(self.maximum) || self.maximum >= self.size",
        expected="a maximum of at least the size",
        at=".maximum",
    ),
    Rule(
        holds="!has(self.renews) || self.renews || self.size == 0",
        expected="size 0 with renews: false, where each machine is asked for by itself",
        at=".size",
    ),
    *(
        Rule(
            holds=f"!has(self.ready) || !has(self.ready.{key}) || self.ready.probe == 'ssh'",
            expected=f"probe: ssh with {key}",
            at=".ready",
        )
        for key in ("commands", "busy", "key")
    ),
)
"""The laws of config.laws that Kubernetes can judge too, before anything is stored."""

COLUMNS = (
    Column(name="Provider", path=".spec.provider"),
    Column(name="Size", path=".status.size", type="integer", description="The size in force."),
    Column(name="Ready", path=".status.ready", type="integer"),
    Column(name="Machines", path=".status.machines", type="integer", priority=1),
    condition_column("Accepted", "Accepted"),
    condition_column("Paused", "Paused", priority=1),
    Column(name="Status", path='.status.conditions[?(@.type=="Ready")].message', priority=1),
    AGE,
)


def fleet_kind(kinds: Kinds) -> CustomKind:
    """Return the kind, with a section for each kind of provider."""
    found = templates(kinds)
    common = fields_in_object(FleetTable, ("on_remove",))
    own = Fields(
        properties={"paused": PAUSED, POLICY: DELETION_POLICY, "secretName": SECRET_NAME},
    )
    return CustomKind(
        names=NAMES,
        about=ABOUT,
        spec=common.with_others(own).with_others(in_sections(found, {})),
        status=_status(),
        columns=COLUMNS,
        rules=(*RULES, one_section(found)),
        name_rules=NAME_RULES,
        scale={
            "specReplicasPath": ".spec.size",
            "statusReplicasPath": ".status.machines",
            "labelSelectorPath": ".status.selector",
        },
    )


def _status() -> Fields:
    phases = {
        "type": "object",
        "additionalProperties": {"type": "integer"},
        "description": "How many machines are in which phase.",
    }
    about = (
        "Accepted: the spec is right and in force; if not, what was right before stays in force. "
        "Ready: as many machines are ready as are asked for. Paused: nothing is changed."
    )
    return Fields(
        properties={
            "observedGeneration": OBSERVED,
            "size": count("The size in force."),
            "machines": count("How many machines there are, whatever their phase."),
            "ready": count("How many machines are up and usable."),
            "phases": phases,
            "orphans": count("How many resources in its name no record explains."),
            "selector": text("The selector of its machines, for autoscalers."),
            "conditions": conditions(about),
        }
    )
