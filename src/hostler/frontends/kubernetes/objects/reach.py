"""Reach: what an object of one namespace gets at of others, and of the whole cluster. Pure.

A fleet is bought at a provider of its own namespace, and a host is of one. Jobs of a host are in
its namespace. Nodes are of no namespace: they are for the home one, unless others are allowed.
"""

from collections.abc import Mapping

import msgspec
from msgspec import Struct

from hostler.config.cluster_tables import AllowTable
from hostler.config.decode import Raw, is_table, table
from hostler.config.errors import Fault, did_you_mean
from hostler.frontends.kubernetes.namespaces import Namespaces
from hostler.kubernetes.objects import Key

from .assembly import NO_PROVIDER, worded_in
from .models import Written
from .permissions import cure


class Reach(Struct, frozen=True, kw_only=True):
    """The namespaces that are read, and what the installation allows their objects."""

    namespaces: Namespaces
    allow: AllowTable

    def provider_of(self, one: Written, kinds: Mapping[str, str]) -> str:
        """Return the provider that a fleet names, as the engine has it, or the only one it may."""
        namespace, named = one.metadata.namespace, one.wanted.get("provider")
        if named:
            return self.namespaces.name(namespace, str(named))
        own = self.namespaces.own(namespace, kinds)
        return self.namespaces.name(namespace, own[0]) if len(own) == 1 else ""

    def without_provider(self, one: Written, kinds: Mapping[str, str]) -> tuple[str, ...]:
        """Return that a fleet names no provider of its namespace, and which there are."""
        named = one.wanted.get("provider")
        known = self.namespaces.own(one.metadata.namespace, kinds)
        if not known:
            return (NO_PROVIDER,)
        near = did_you_mean(named, known) if isinstance(named, str) else ""
        value = f'"{named}"' if isinstance(named, str) else ""
        expected = f"one of the providers: {', '.join(known)}"
        fault = Fault(path="spec.provider", value=value, expected=expected, hint=near)
        return (worded_in(fault, str),)

    def at_nodes(self, one: Written) -> tuple[str, ...]:
        """Return that a fleet may not work at Nodes, which are those of all namespaces."""
        namespace, node = one.metadata.namespace, one.wanted.get("node")
        managed = is_table(node) and "managed" in table(node)
        if not managed or self.namespaces.is_home(namespace) or namespace in self.allow.nodes:
            return ()
        expected = f"none in {namespace}: Nodes belong to the whole cluster"
        fault = Fault(path="spec.node.managed", value="", expected=expected, hint=cure("nodes"))
        return (worded_in(fault, str),)

    def with_job(self, one: Written, made: Raw) -> Raw:
        """Return a host's table with its Jobs in its own namespace, unless it says another one."""
        namespace, job = one.metadata.namespace, made.get("job")
        if self.namespaces.is_home(namespace) or not is_table(job):
            return made
        own = {**table(job), "namespace": table(job).get("namespace") or namespace}
        return {**made, "job": own}

    def allowed(self, one: Written) -> AllowTable:
        """Return what is allowed to an object: Jobs in its own namespace are."""
        namespace = one.metadata.namespace
        if self.namespaces.is_home(namespace):
            return self.allow
        spaces = (*self.allow.namespaces, namespace)
        return msgspec.structs.replace(self.allow, namespaces=spaces)


def provider_key(one: Written) -> Key:
    """Return the Provider that a Host names: one of its own namespace."""
    return Key(one.metadata.namespace, str(one.wanted.get("provider", "")))
