"""API keys: shown without their secret, which stands only in the answer to their creation."""

import re
from collections.abc import Callable
from datetime import UTC, datetime

from hostler.simulators.scaleway.api.checks import id_of, text_of
from hostler.simulators.scaleway.api.pages import NEWER
from hostler.simulators.scaleway.api.resource import Resource
from hostler.simulators.scaleway.state import errors
from hostler.simulators.scaleway.state.calls import Answer, Body, Call
from hostler.simulators.scaleway.state.inventory import Cloud
from hostler.simulators.scaleway.state.network_records import Plain
from hostler.simulators.scaleway.state.record import Owner
from hostler.simulators.scaleway.state.stock import Shelf

PATH = "/iam/v1alpha1/api-keys"
SORT = "api_key"
ACCESS_KEY = "SCWSIMULATOR00000000"
"""The access key that the simulator tells its clients; it is there from the start."""
MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)", re.ASCII)


def stored(cloud: Cloud) -> Shelf[Plain]:
    """Return where keys are stored."""
    return cloud.plain.setdefault(SORT, Shelf())


def body_of(cloud: Cloud, key: Plain) -> dict[str, object]:
    """Return the body of a key."""
    return {
        "access_key": key.id,
        "secret_key": None,
        "created_at": cloud.zulu(key.created),
        "updated_at": cloud.zulu(key.modified),
        "default_project_id": key.project,
        "editable": True,
        "deletable": True,
        "managed": False,
        "creation_ip": "127.0.0.1",
        **key.fields,
    }


def filter_of(call: Call) -> Callable[[Plain], bool]:
    """Return the filter that a query asks for."""
    bearer, access = call.id("bearer_id"), call.text("access_key")
    description = call.text("description")
    owners = {name: call.id(name) for name in ("user_id", "application_id")}
    return lambda key: (
        all(one in ("", key.fields.get(name)) for name, one in owners.items())
        and access in ("", key.id)
        and description in str(key.fields["description"])
        and bearer in ("", *(str(key.fields.get(name)) for name in ("user_id", "application_id")))
    )


KEYS: Resource[Plain] = Resource(
    stored=stored,
    name="access_key",
    body=body_of,
    style=NEWER.of("api_keys"),
    keep=filter_of,
    orders={
        "access_key": lambda key: key.id,
        "expires_at": lambda key: str(key.fields["expires_at"] or ""),
    },
)


def new_key(cloud: Cloud, call: Call, body: Body) -> Plain:
    """Return a key that is not in the account yet."""
    project = id_of(body, "default_project_id") or call.project
    key = Plain(**cloud.born(Owner("", call.organization, project)), name="")
    letters = key.id.replace("-", "").upper()
    bearer = "application_id" if id_of(body, "application_id") else "user_id"
    key.fields = {
        "description": text_of(body, "description"),
        "expires_at": moment_of(body, "expires_at"),
        bearer: id_of(body, bearer) or call.organization,
    }
    key.id = f"SCW{letters[:17]}"
    return key


def moment_of(body: Body, name: str) -> str | None:
    """Return a moment of a body as the API writes it; refuse what no client could read."""
    text = text_of(body, name)
    if not text:
        return None
    try:
        if MOMENT.fullmatch(text):
            moment = datetime.fromisoformat(text).astimezone(UTC)
            return moment.isoformat(timespec="microseconds").replace("+00:00", "Z")
    except (ValueError, OverflowError):
        pass
    raise errors.invalid((name, "format", "must be a date"))


def known(cloud: Cloud, call: Call) -> None:
    """Let the key that clients are told be there from the start; deleted, it is gone."""
    if SORT not in cloud.plain:
        key = new_key(cloud, call, {})
        key.id = ACCESS_KEY
        stored(cloud).put(key)


def list_all(cloud: Cloud, call: Call) -> Answer:
    """List keys."""
    known(cloud, call)
    return KEYS.list_all(cloud, call)


def get(cloud: Cloud, call: Call) -> Answer:
    """Show a key."""
    known(cloud, call)
    return KEYS.get(cloud, call)


def create(cloud: Cloud, call: Call) -> Answer:
    """Make a key; nobody is let in with it who is not already."""
    known(cloud, call)
    key = new_key(cloud, call, call.body)
    stored(cloud).put(key)
    body = {**body_of(cloud, key), "secret_key": cloud.new_id()}
    return Answer(200, body, subject=key)


def update(cloud: Cloud, call: Call) -> Answer:
    """Change a key."""
    known(cloud, call)
    key = KEYS.find(cloud, call)
    project = id_of(call.body, "default_project_id") or key.project
    if call.body.get("description") is not None:
        key.fields["description"] = text_of(call.body, "description")
    key.project = project
    key.modified = cloud.now
    return KEYS.answer(cloud, key)


def delete(cloud: Cloud, call: Call) -> Answer:
    """Delete a key; whoever has it is let in all the same."""
    known(cloud, call)
    return KEYS.delete(cloud, call)


ROUTES = KEYS.routes(
    "api_key", PATH, list=list_all, create=create, get=get, update=update, delete=delete
)
