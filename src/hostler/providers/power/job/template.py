"""Template: what a Job runs, as the fleet file says it; secrets are named, and never read here."""

import re
from typing import Annotated, Any

from msgspec import Meta, Struct

from hostler.ports.kind import permission

_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_REFERENCE = re.compile(r"[a-z0-9]([a-z0-9.-]*[a-z0-9])?/[A-Za-z0-9._-]+")
_NAME = re.compile(r"[a-z0-9]([a-z0-9.-]*[a-z0-9])?")


class JobTemplate(Struct, frozen=True, kw_only=True):
    """What one Job runs: a container, once."""

    image: Annotated[
        str, Meta(min_length=1, description="the container image", extra=permission("images"))
    ]
    command: Annotated[
        tuple[str, ...], Meta(description="the program and its words; left out: the image's own")
    ] = ()
    args: Annotated[tuple[str, ...], Meta(description="the words that follow the program")] = ()
    environment: Annotated[
        dict[str, str], Meta(description="environment variables that are no secrets")
    ] = {}
    secrets: Annotated[
        dict[str, str],
        Meta(
            description="environment variables from Secrets, each as SECRET/KEY",
            extra=permission("secrets"),
        ),
    ] = {}
    secret_files: Annotated[
        dict[str, str],
        Meta(
            description="folders, each with the name of the Secret that fills it",
            extra=permission("secrets"),
        ),
    ] = {}
    service_account: Annotated[
        str,
        Meta(
            description="the service account whose token it has; left out: it has none",
            extra=permission("service_accounts"),
        ),
    ] = ""
    host_network: Annotated[
        bool,
        Meta(
            description="whether it is in the network of its node, as broadcasts need it",
            extra=permission("host_network"),
        ),
    ] = False
    security_context: Annotated[
        dict[str, Any],
        Meta(
            description="keys of the container's securityContext as Kubernetes has them, beside or "
            "instead of ours: no new privileges, no capabilities, and the runtime's own seccomp "
            "profile",
            extra=permission("privileged"),
        ),
    ] = {}

    def faults(self) -> tuple[str, ...]:
        """Return what cannot work, as "key: expected …"."""
        variables = (*self.environment, *self.secrets)
        found = [
            f"environment: expected the name of a variable instead of {name!r}"
            for name in variables
            if _VARIABLE.fullmatch(name) is None
        ]
        found += [
            f"secrets: expected SECRET/KEY for {name}, not a secret itself"
            for name, reference in self.secrets.items()
            if _REFERENCE.fullmatch(reference) is None
        ]
        found += [
            f"secret_files: expected the name of a Secret for a whole path instead of {path!r}"
            for path, name in self.secret_files.items()
            if not path.startswith("/") or ":" in path or _NAME.fullmatch(name) is None
        ]
        if twice := sorted({*self.environment} & {*self.secrets}):
            found.append(f"secrets: expected {twice[0]} once, not in environment too")
        return tuple(found)
