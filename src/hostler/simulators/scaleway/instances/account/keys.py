"""SSH keys of IAM, and the metadata that newer Go clients ask for after every object."""

import base64
import binascii
import hashlib
from collections.abc import Callable

from msgspec.structs import replace

from hostler.simulators.scaleway.api.checks import flag_of, owner_of, text_of
from hostler.simulators.scaleway.api.pages import NEWER
from hostler.simulators.scaleway.api.resource import Resource, Route
from hostler.simulators.scaleway.state import errors
from hostler.simulators.scaleway.state.calls import Answer, Call
from hostler.simulators.scaleway.state.inventory import Cloud
from hostler.simulators.scaleway.state.records import SshKey

PATH = "/iam/v1alpha1/ssh-keys"
BITS = {"ssh-rsa": 2048, "ssh-ed25519": 256}


def fingerprint_of(public_key: str) -> str:
    """Return a fingerprint as IAM writes it: bits, MD5 of the key, its type in brackets."""
    parts = public_key.split()
    try:
        blob = base64.b64decode(parts[1], validate=True)
    except (IndexError, binascii.Error):
        raise errors.invalid(("public_key", "format", "not an SSH public key")) from None
    digest = hashlib.md5(blob, usedforsecurity=False).hexdigest()
    pairs = ":".join(digest[at : at + 2] for at in range(0, len(digest), 2))
    return f"{BITS.get(parts[0], 256)} MD5:{pairs} ({parts[0]})"


def key_body(cloud: Cloud, key: SshKey) -> dict[str, object]:
    """Return the body of a key."""
    return {
        "id": key.id,
        "name": key.name,
        "public_key": key.public_key,
        "fingerprint": key.fingerprint,
        "created_at": cloud.zulu(key.created),
        "updated_at": cloud.zulu(key.modified),
        "organization_id": key.organization,
        "project_id": key.project,
        "disabled": key.disabled,
    }


def filter_of(call: Call) -> Callable[[SshKey], bool]:
    """Return the filter that a query asks for."""
    name, disabled = call.text("name"), call.flag("disabled")
    project, organization = call.id("project_id"), call.id("organization_id")

    def keep(key: SshKey) -> bool:
        return (
            organization in ("", key.organization)
            and name in key.name
            and disabled in ("", "true" if key.disabled else "false")
            and project in ("", key.project)
        )

    return keep


KEYS: Resource[SshKey] = Resource(
    stored=lambda cloud: cloud.keys,
    name="ssh_key",
    body=key_body,
    style=NEWER.of("ssh_keys"),
    keep=filter_of,
)


def create(cloud: Cloud, call: Call) -> Answer:
    """Add a key; a project that is said to be none is refused, as recorded."""
    if call.body.get("project_id") == "":
        raise errors.invalid(("project_id", "format", "value must be a valid UUID"))
    public_key = text_of(call.body, "public_key")
    fingerprint = fingerprint_of(public_key)
    owner = owner_of(call)
    key = SshKey(
        **cloud.born(replace(owner, zone="")),
        name=text_of(call.body, "name") or "key",
        public_key=public_key,
        fingerprint=fingerprint,
    )
    cloud.keys.put(key)
    cloud.ledger.open("ssh_key", key, 0.0, cloud.now)
    return KEYS.answer(cloud, key)


def update(cloud: Cloud, call: Call) -> Answer:
    """Change a key."""
    key = KEYS.find(cloud, call)
    disabled = flag_of(call.body, "disabled", default=key.disabled)
    key.name, key.disabled = text_of(call.body, "name") or key.name, disabled
    key.modified = cloud.now
    return KEYS.answer(cloud, key)


def metadata(_cloud: Cloud, _call: Call) -> Answer:
    """Tell which platform this is."""
    body = {"platform": "scaleway", "partition": "default", "domain": "scaleway.com"}
    return Answer(200, body)


ROUTES = (
    *KEYS.routes("ssh_key", PATH, create=create, update=update),
    Route("metadata.get", "GET", "/metadata", metadata, public=True),
)
