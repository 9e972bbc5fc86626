"""Permissions: what an object may not say, for the engine would do it with rights of its own.

Whoever may write a Host need not be allowed to start Pods, to read Secrets, or to speak to what the
engine reaches. What lends such rights is allowed by the installation, or refused here. Pure.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import cast, get_args, get_origin

from hostler.config.cluster_tables import AllowTable
from hostler.config.decode import Raw, is_table, table
from hostler.config.errors import Fault, join
from hostler.config.structure import bare_of, extra, fields_of, struct_of
from hostler.ports.kind import PERMISSION

_FILE_ALONE = "nothing: it stands in the fleet file alone, for it is of the engine's own computer"
_CURE = (
    "whoever installs hostler allows it: `{key}` of [frontend.kubernetes.allow], or `allow` of "
    "the chart"
)


def cure(key: str) -> str:
    """Return who allows what an object may not say, and where."""
    return _CURE.format(key=key)


def _is_no_root(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value > 0


def _drops_all(value: object) -> bool:
    """Tell whether capabilities are given up, all of them, and none is asked for."""
    dropped = table(value).get("drop") if is_table(value) else None
    return isinstance(dropped, list) and "ALL" in dropped and set(table(value)) == {"drop"}


_LESS: Mapping[str, Callable[[object], bool]] = {
    "allowPrivilegeEscalation": lambda value: value is False,
    "privileged": lambda value: value is False,
    "readOnlyRootFilesystem": lambda value: isinstance(value, bool),
    "runAsNonRoot": lambda value: value is True,
    "runAsUser": _is_no_root,
    "runAsGroup": _is_no_root,
    "capabilities": _drops_all,
}
"""Keys of a security context by which a container has fewer rights than ours, where this holds.

What stands there takes the place of ours whole: it has to give up as much.
"""


def forbidden(written: Raw, structs: Sequence[type[object]], allow: AllowTable) -> Iterator[Fault]:
    """Yield what a table of an object may not say; `structs` share its keys out among them."""
    for struct in structs:
        yield from _in_table(written, struct, allow, "")


def _in_table(written: Raw, struct: type[object], allow: AllowTable, path: str) -> Iterator[Fault]:
    for field in fields_of(struct):
        value = written.get(field.encode_name)
        if value is None:
            continue
        where = join(path, field.encode_name)
        if extra(field.type, "local"):
            yield Fault(path=where, value="", expected=_FILE_ALONE)
        elif name := extra(field.type, PERMISSION):
            yield from _judged(name, value, allow, where)
        else:
            yield from _inside(value, field.type, allow, where)


def _inside(value: object, kind: object, allow: AllowTable, path: str) -> Iterator[Fault]:
    bare = bare_of(kind, value)
    struct = struct_of(bare)
    if struct is not None:
        yield from _in_table(table(value), struct, allow, path)
    elif get_origin(bare) is tuple and isinstance(value, list):
        (item, *_) = get_args(bare)
        for number, one in enumerate(cast("list[object]", value)):
            yield from _inside(one, item, allow, f"{path}[{number}]")


def _judged(name: str, value: object, allow: AllowTable, path: str) -> Iterator[Fault]:
    """Yield what is not allowed of a value; one of another type is refused when it is decoded."""
    judge = _JUDGES.get(name)
    expected = judge(value, allow) if judge is not None else "nothing: it cannot be allowed"
    if expected:
        text = f'"{value}"' if isinstance(value, str) else ""
        yield Fault(path=path, value=text, expected=expected, hint=cure(name))


def _images(value: object, allow: AllowTable) -> str:
    fits = any(_begins(str(value), pattern) for pattern in allow.images)
    return "" if fits else f"an image that is allowed: {_listed(allow.images)}"


def _begins(image: str, pattern: str) -> bool:
    return image.startswith(pattern[:-1]) if pattern.endswith("*") else image == pattern


def _accounts(value: object, allow: AllowTable) -> str:
    if value == "" or value in allow.service_accounts:
        return ""
    return f"a service account that is allowed: {_listed(allow.service_accounts)}"


def _namespaces(value: object, allow: AllowTable) -> str:
    if value == "" or value in allow.namespaces:
        return ""
    return f"a namespace that is allowed, or none: {_listed(allow.namespaces)}"


def _secrets(value: object, allow: AllowTable) -> str:
    """Judge a table of names, or of names with keys, as SECRET/KEY."""
    names = {str(one).partition("/")[0] for one in table(value).values()}
    strange = sorted(names.difference(allow.secrets))
    if not strange:
        return ""
    return f"Secrets that are allowed ({_listed(allow.secrets)}), which {strange[0]} is not"


def _host_network(value: object, allow: AllowTable) -> str:
    return "" if value is False or allow.host_network else "false"


def _privileged(value: object, allow: AllowTable) -> str:
    if allow.privileged:
        return ""
    more = (key for key, one in table(value).items() if key not in _LESS or not _LESS[key](one))
    wrong = next(more, "")
    return f"what gives a container fewer rights, which {wrong} does not" if wrong else ""


def _labels(value: object, allow: AllowTable) -> str:
    """Judge the keys of labels: those of Kubernetes say what a Node is, ours whose it is."""
    named = (key for key in table(value) if _is_the_systems(key) and key not in allow.labels)
    key = next(named, "")
    return f"no label of Kubernetes or hostler but {_listed(allow.labels)}: {key}" if key else ""


def _is_the_systems(key: str) -> bool:
    domain = key.rpartition("/")[0]
    return any(domain == own or domain.endswith(f".{own}") for own in _OWN)


_OWN = ("kubernetes.io", "k8s.io", "hostler.dev")


def _webhooks(value: object, allow: AllowTable) -> str:
    fits = any(_leads(str(value), device) for device in allow.webhooks)
    return "" if fits else f"an address that is allowed: {_listed(allow.webhooks)}"


def _leads(address: str, device: str) -> bool:
    """Tell whether an address is that of a device, or of a path there."""
    return address == device or address.startswith(f"{device}/")


_JUDGES: Mapping[str, Callable[[object, AllowTable], str]] = {
    "images": _images,
    "service_accounts": _accounts,
    "namespaces": _namespaces,
    "secrets": _secrets,
    "host_network": _host_network,
    "privileged": _privileged,
    "labels": _labels,
    "webhooks": _webhooks,
}


def _listed(allowed: Iterable[str]) -> str:
    return ", ".join(allowed) or "none"
