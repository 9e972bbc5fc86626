"""Managers: who owns which fields, after a plain write and after an apply."""

from collections.abc import Iterable, Sequence

from msgspec import Struct
from msgspec.structs import replace

from hostler.simulators.kubernetes.state.body import Body, mapping, metadata_of, sequence, text_at

from .fields import NOBODY, Path, Paths, decoded, encoded

APPLY = "Apply"
UPDATE = "Update"


class Manager(Struct, frozen=True, kw_only=True):
    """One entry of `managedFields`."""

    name: str
    operation: str
    api_version: str
    subresource: str = ""
    time: str = ""
    paths: Paths = NOBODY

    @property
    def identity(self) -> tuple[str, str, str, str]:
        """Return what makes two entries one."""
        version = self.api_version if self.operation == UPDATE else ""
        return self.name, self.operation, version, self.subresource

    def entry(self) -> Body:
        """Return it as the object says it."""
        body: Body = {
            "manager": self.name,
            "operation": self.operation,
            "apiVersion": self.api_version,
            "time": self.time,
            "fieldsType": "FieldsV1",
            "fieldsV1": encoded(self.paths),
        }
        return {**body, "subresource": self.subresource} if self.subresource else body


Managers = tuple[Manager, ...]


def managers_of(item: Body) -> Managers:
    """Return the managers of an object."""
    return tuple(
        Manager(
            name=text_at(entry, "manager"),
            operation=text_at(entry, "operation"),
            api_version=text_at(entry, "apiVersion"),
            subresource=text_at(entry, "subresource"),
            time=text_at(entry, "time"),
            paths=decoded(mapping(mapping(entry).get("fieldsV1"))),
        )
        for entry in sequence(metadata_of(item).get("managedFields"))
    )


def entries(managers: Managers) -> Sequence[Body]:
    """Return `managedFields`; who owns nothing any more is no manager."""
    return [manager.entry() for manager in sorted(managers, key=_order) if manager.paths]


def _order(manager: Manager) -> tuple[str, ...]:
    return (
        *(manager.operation, manager.time, manager.name),
        *(manager.api_version, manager.subresource),
    )


def own(managers: Managers, identity: Manager) -> Manager | None:
    """Return the entry of a manager, or None."""
    return next((each for each in managers if each.identity == identity.identity), None)


def without(managers: Managers, paths: Iterable[Path], identity: Manager) -> Managers:
    """Return the managers when others than `identity` lose some paths."""
    lost = frozenset(paths)
    return tuple(
        each if each.identity == identity.identity else replace(each, paths=each.paths - lost)
        for each in managers
    )


def after_update(managers: Managers, writer: Manager, written: Paths, removed: Paths) -> Managers:
    """Return the managers after a plain write: the writer owns what it changed, and alone."""
    if not written and not removed:
        return managers
    left = tuple(replace(each, paths=each.paths - written - removed) for each in managers)
    before = own(left, writer)
    if not written:
        return left
    if before is None:
        return (*left, replace(writer, paths=written))
    after = replace(writer, paths=before.paths | written)
    return tuple(after if each.identity == writer.identity else each for each in left)


def with_applied(managers: Managers, writer: Manager) -> Managers:
    """Return the managers with what one applies now, in place of what it applied before."""
    if (before := own(managers, writer)) is None:
        return (*managers, writer)
    time = before.time if before.paths == writer.paths else writer.time
    after = replace(writer, time=time)
    return tuple(after if each.identity == writer.identity else each for each in managers)
