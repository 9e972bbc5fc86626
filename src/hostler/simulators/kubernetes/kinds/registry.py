"""Registry: which kinds are served now, found by path or by name, and told to who discovers."""

from collections.abc import Iterator, Mapping

from hostler.simulators.kubernetes.state.body import Body

from .builtin import BUILTIN
from .kind import Kind

_EXTRA = {
    "eviction": ("policy", "v1", "Eviction", ("create",)),
    "binding": ("", "v1", "Binding", ("create",)),
    "token": ("authentication.k8s.io", "v1", "TokenRequest", ("create",)),
    "scale": ("autoscaling", "v1", "Scale", ("get", "patch", "update")),
}
REVIEWS: Mapping[str, tuple[str, str]] = {
    "selfsubjectaccessreviews": ("authorization.k8s.io", "SelfSubjectAccessReview"),
    "subjectaccessreviews": ("authorization.k8s.io", "SubjectAccessReview"),
    "selfsubjectreviews": ("authentication.k8s.io", "SelfSubjectReview"),
    "tokenreviews": ("authentication.k8s.io", "TokenReview"),
}


class Registry:
    """The kinds of one server."""

    def __init__(self) -> None:
        self._kinds: dict[tuple[str, str, str], Kind] = {}
        for kind in BUILTIN:
            self.add(kind)

    def add(self, kind: Kind) -> None:
        """Serve a kind from now on, or serve it in another way."""
        self._kinds[kind.group, kind.version, kind.plural] = kind

    def remove(self, group: str, plural: str) -> None:
        """Serve a kind no longer, in any version."""
        for key in [key for key in self._kinds if (key[0], key[2]) == (group, plural)]:
            del self._kinds[key]

    def find(self, group: str, version: str, plural: str) -> Kind | None:
        """Return the kind that a path names."""
        return self._kinds.get((group, version, plural))

    def named(self, api_version: str, kind: str) -> Kind | None:
        """Return the kind that an object or a reference names."""
        return next(
            (one for one in self if (one.api_version, one.kind) == (api_version, kind)), None
        )

    def stored(self, store: str) -> Kind | None:
        """Return a kind whose objects are in a store."""
        return next((one for one in self if one.store == store), None)

    def __iter__(self) -> Iterator[Kind]:
        """Return all kinds, each in all of its versions."""
        return iter(self._kinds.values())

    def groups(self) -> Body:
        """Return `/apis`."""
        return {
            "kind": "APIGroupList",
            "apiVersion": "v1",
            "groups": [self._group(name) for name in self._versions() if name],
        }

    def group(self, name: str) -> Body | None:
        """Return `/apis/GROUP`, or None."""
        if not name or name not in self._versions():
            return None
        return {"kind": "APIGroup", "apiVersion": "v1", **self._group(name)}

    def resources(self, group: str, version: str) -> Body | None:
        """Return `/apis/GROUP/VERSION` or `/api/v1`, or None."""
        if version not in self._versions().get(group, ()):
            return None
        mine = [kind for kind in self if (kind.group, kind.version) == (group, version)]
        entries = [entry for kind in mine for entry in _entries(kind)]
        if version == "v1":
            entries += [
                {
                    "name": plural,
                    "singularName": kind.lower(),
                    "namespaced": False,
                    "kind": kind,
                    "verbs": ["create"],
                }
                for plural, (owner, kind) in REVIEWS.items()
                if owner == group
            ]
        named = f"{group}/{version}" if group else version
        return {
            "kind": "APIResourceList",
            "apiVersion": "v1",
            "groupVersion": named,
            "resources": entries,
        }

    def _versions(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for kind in self:
            versions = found.setdefault(kind.group, [])
            if kind.version not in versions:
                versions.append(kind.version)
        for group, _ in REVIEWS.values():
            found.setdefault(group, ["v1"])
        return found

    def _group(self, name: str) -> Body:
        versions = [
            {"groupVersion": f"{name}/{version}", "version": version}
            for version in self._versions()[name]
        ]
        return {"name": name, "versions": versions, "preferredVersion": versions[0]}


def _entries(kind: Kind) -> list[Body]:
    entry: Body = {
        "name": kind.plural,
        "singularName": kind.singular,
        "namespaced": kind.namespaced,
        "kind": kind.kind,
        "verbs": list(kind.verbs),
    }
    if kind.short:
        entry["shortNames"] = list(kind.short)
    if kind.categories:
        entry["categories"] = list(kind.categories)
    return [entry, *(_below(kind, name) for name in sorted(kind.subresources))]


def _below(kind: Kind, name: str) -> Body:
    group, version, below, verbs = _EXTRA.get(name, ("", "", kind.kind, ("get", "patch", "update")))
    entry: Body = {
        "name": f"{kind.plural}/{name}",
        "singularName": "",
        "namespaced": kind.namespaced,
        "kind": below,
        "verbs": list(verbs),
    }
    return {**entry, "group": group, "version": version} if version else entry
