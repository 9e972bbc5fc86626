"""Sections: what belongs to one kind of provider stands in a section of its name. Pure.

In the fleet file those keys stand beside the others; an object is checked before it is known which
kind its provider is of.
"""

from collections.abc import Callable, Mapping
from typing import get_args

from hostler.config.structure import bare_of, extra, fields_of, struct_of
from hostler.ports.kind import Kind

from .custom import Rule
from .notation import key_in_object
from .schema import Fields, fields_in_object, sentence

Kinds = Mapping[str, Callable[[], Kind]]
Tables = Mapping[str, type[object]]
"""The table of each kind of provider by the kind's name."""


def templates(kinds: Kinds) -> Tables:
    """Return what each kind needs of a fleet."""
    return {name: kinds[name]().template for name in sorted(kinds)}


def accounts(kinds: Kinds) -> Tables:
    """Return what each kind needs of an account."""
    return {name: kinds[name]().settings for name in sorted(kinds)}


def hosts(kinds: Kinds) -> Tables:
    """Return what each kind that has a list of hosts needs of one of them."""
    found = dict[str, type[object]]()
    for name, settings in accounts(kinds).items():
        for field in fields_of(settings):
            if extra(field.type, "inventory"):
                (item, *_) = get_args(bare_of(field.type, []))
                struct = struct_of(bare_of(item, {}))
                found |= {name: struct} if struct is not None else {}
    return found


def in_sections(tables: Tables, without: Mapping[str, str]) -> Fields:
    """Return a section for each kind; `without` is a key that is left out of its section."""
    made = {
        key_in_object(kind): fields_in_object(table, (without.get(kind, ""),)).schema(
            f"For providers of kind {kind}. {sentence(table)}"
        )
        for kind, table in tables.items()
    }
    return Fields(properties=made)


def one_section(tables: Tables) -> Rule:
    """Return the rule that an object has the section of one kind at most."""
    named = [key_in_object(kind) for kind in tables]
    there = ", ".join(f"has(self.{name})" for name in named)
    return Rule(
        holds=f"[{there}].filter(there, there).size() <= 1",
        expected=f"the section of one kind of provider, not several of {', '.join(named)}",
    )
