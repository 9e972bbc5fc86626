"""Unused hosts: why may none of our machines have a host that none of them has?

What a name says only tells a person whom to ask. It is never a reason to do anything to a host.
"""

import re
from collections.abc import Callable

from .machine import Offer
from .resource import Condition, Resource, Stage

Fits = Callable[[Offer, Resource], str]
"""Says why a host is none for an offer, as the provider sees it; empty where it is one."""

_ILL = {
    Condition.FAILED: "it is in error",
    Condition.LOCKED: "its provider locked it",
    Condition.UNKNOWN: "its status is unknown",
}

_HOSTLER = "hostler."

_SAFE = "[bcdfghjklmnpqrstvwxz2456789]"
"""The letters of the suffixes that Kubernetes gives to names, so that they spell no word."""

_GENERATED = re.compile(rf"(?P<group>.+?)(?:-{_SAFE}{{6,10}}|-{_SAFE}{{5}})?-{_SAFE}{{5}}")
_DIGIT = re.compile(r"[0-9]")


def unfit(resource: Resource) -> str:
    """Return why no machine may have a host, wherever it waits; empty where it is well."""
    if resource.host.scheduled:
        return "its provider is going to delete it"
    return _ILL.get(resource.condition, "")


def claimant(resource: Resource) -> str:
    """Return who seems to have claimed a host, by a name that no hostler could have written whole.

    That is a name of a hostler's whose check is wrong or cut off, or one that Kubernetes generated
    for a machine of a group of another system. Empty for any other name.
    """
    if resource.name.startswith(_HOSTLER):
        return "" if resource.host.installation else "a hostler, by a name that is damaged"
    if resource.host.stage is not Stage.OTHER:
        return ""
    found = _GENERATED.fullmatch(resource.name)
    if found is None or not _DIGIT.search(resource.name[len(found["group"]) :]):
        return ""
    return f"the machines called {found['group']}-…"
