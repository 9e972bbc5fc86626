"""The kind Provider: what a [provider.NAME] table of the file is: an account. Pure."""

from hostler.config.structure import inventory_key
from hostler.config.tables import ProviderTable

from .custom import (
    AGE,
    OBSERVED,
    Column,
    CustomKind,
    Names,
    condition_column,
    conditions,
    count,
)
from .fleet import NAME_RULES
from .schema import Fields, Schema, fields_in_object
from .sections import Kinds, accounts, in_sections, one_section

NAMES = Names(kind="Provider", plural="providers", short=("hprovider", "hp"))
ABOUT = (
    "An account from which machines come: whose money and whose limits it is. It is what a "
    "[provider.NAME] table is in hostler's file."
)
SECRET_NAME: Schema = {
    "type": "string",
    "maxLength": 253,
    "description": "The Secret of this namespace that holds its credentials. Its keys are what "
    "fields that end in Env or File name. Nothing else is looked into: neither the environment "
    "nor the files of the engine.",
}
COLUMNS = (
    Column(name="Kind", path=".spec.kind"),
    Column(name="Fleets", path=".status.fleets", type="integer"),
    Column(name="Hosts", path=".status.hosts", type="integer", priority=1),
    condition_column("Accepted", "Accepted"),
    Column(name="Status", path='.status.conditions[?(@.type=="Accepted")].message', priority=1),
    AGE,
)


def provider_kind(kinds: Kinds) -> CustomKind:
    """Return the kind, with a section for each kind of provider; hosts are objects themselves."""
    found = accounts(kinds)
    common = fields_in_object(ProviderTable, ("kind",))
    kind: Schema = {
        "type": "string",
        "enum": sorted(found),
        "description": "The kind of provider; its own fields are in the section of its name.",
    }
    own = Fields(properties={"kind": kind, "secretName": SECRET_NAME}, required=("kind",))
    lists = {name: inventory_key(table) for name, table in found.items()}
    return CustomKind(
        names=NAMES,
        about=ABOUT,
        spec=own.with_others(common).with_others(in_sections(found, lists)),
        status=Fields(
            properties={
                "observedGeneration": OBSERVED,
                "fleets": count("How many Fleets name it."),
                "hosts": count("How many Hosts name it."),
                "conditions": conditions(
                    "Accepted: the spec is right, and what it needs of its Secret is there; if "
                    "not, what was right before stays in force."
                ),
            }
        ),
        columns=COLUMNS,
        rules=(one_section(found),),
        name_rules=NAME_RULES,
    )
