"""Projects of the account: one is there from the start, and more can be made."""

from collections.abc import Callable

from hostler.simulators.scaleway.api.checks import id_of, text_of
from hostler.simulators.scaleway.api.pages import NEWER
from hostler.simulators.scaleway.api.resource import Resource
from hostler.simulators.scaleway.state import errors
from hostler.simulators.scaleway.state.calls import Answer, Call
from hostler.simulators.scaleway.state.inventory import Cloud
from hostler.simulators.scaleway.state.network_records import Plain
from hostler.simulators.scaleway.state.record import Owner
from hostler.simulators.scaleway.state.stock import Shelf

PATH = "/account/v3/projects"
SORT = "project"


def stored(cloud: Cloud) -> Shelf[Plain]:
    """Return where projects are stored."""
    return cloud.plain.setdefault(SORT, Shelf())


def known(cloud: Cloud, call: Call) -> None:
    """Let the project of a key be there."""
    if stored(cloud).get(call.project) is None:
        own = new_project(cloud, Owner("", call.organization, call.project), "default")
        own.id = call.project
        stored(cloud).put(own)


def new_project(cloud: Cloud, owner: Owner, name: str) -> Plain:
    """Return a project that is not in the account yet."""
    return Plain(**cloud.born(owner), name=name, fields={"description": ""})


def body_of(cloud: Cloud, project: Plain) -> dict[str, object]:
    """Return the body of a project."""
    return {
        "id": project.id,
        "name": project.name,
        "organization_id": project.organization,
        "created_at": cloud.zulu(project.created),
        "updated_at": cloud.zulu(project.modified),
        "description": project.fields["description"],
        "qualification": {"architecture_type": "unknown_architecture_type"},
    }


def filter_of(call: Call) -> Callable[[Plain], bool]:
    """Return the filter that a query asks for."""
    name, ids = call.text("name"), call.ids("project_ids")
    organization = call.id("organization_id")
    return lambda project: (
        name in project.name
        and (not ids or project.id in ids)
        and organization in ("", project.organization)
    )


PROJECTS: Resource[Plain] = Resource(
    stored=stored,
    name="project_id",
    body=body_of,
    style=NEWER.of("projects"),
    keep=filter_of,
)


def list_all(cloud: Cloud, call: Call) -> Answer:
    """List projects."""
    known(cloud, call)
    return PROJECTS.list_all(cloud, call)


def get(cloud: Cloud, call: Call) -> Answer:
    """Show a project."""
    known(cloud, call)
    return PROJECTS.get(cloud, call)


def create(cloud: Cloud, call: Call) -> Answer:
    """Make a project."""
    organization = id_of(call.body, "organization_id") or call.organization
    if organization != call.organization:
        raise errors.forbidden("write", "organization")
    project = new_project(cloud, Owner("", organization, ""), text_of(call.body, "name"))
    project.name = project.name or f"proj-{project.id[:8]}"
    project.fields["description"] = text_of(call.body, "description")
    stored(cloud).put(project)
    body = {**body_of(cloud, project), "qualification": None}
    return Answer(200, body, subject=project)


def update(cloud: Cloud, call: Call) -> Answer:
    """Change a project."""
    known(cloud, call)
    project = PROJECTS.find(cloud, call)
    project.name = text_of(call.body, "name") or project.name
    if call.body.get("description") is not None:
        project.fields["description"] = text_of(call.body, "description")
    project.modified = cloud.now
    return PROJECTS.answer(cloud, project)


ROUTES = PROJECTS.routes("project", PATH, list=list_all, create=create, get=get, update=update)
