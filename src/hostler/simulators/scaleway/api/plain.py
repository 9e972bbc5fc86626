"""Resources that are what was said of them and do nothing: made, listed, changed and deleted."""

from collections.abc import Callable, Mapping

from msgspec import Struct, field

from hostler.simulators.scaleway.state.calls import Answer, Body, Call
from hostler.simulators.scaleway.state.inventory import Cloud
from hostler.simulators.scaleway.state.network_records import Plain
from hostler.simulators.scaleway.state.stock import Shelf

from .checks import owner_of, tags_of, text_of
from .pages import NEWER, Key
from .resource import Resource, Route, no_orders

Reader = Callable[[Body, str], object]
Check = Callable[[Cloud, Call], None]


def nothing(_cloud: Cloud, _call: Call) -> None:
    """Check nothing."""


class Sort(Struct, frozen=True, kw_only=True):
    """One sort of plain resource.

    name: what errors call it; key: what a list of it stands under, and its routes are called by.
    fields: how each field of a body is read; `fixed` are fields that nobody can set.
    filters: query parameters with ids, and the fields that they ask for.
    place: what its place is called in a body: "zone" or "region".
    check: refuses a creation that names what is not there.
    orders: the orders of a list beside the usual ones.
    """

    name: str
    key: str
    path: str
    fields: Mapping[str, Reader]
    fixed: Mapping[str, object]
    filters: Mapping[str, str]
    place: str
    check: Check = nothing
    orders: Mapping[str, Callable[[Plain], Key]] = field(default_factory=no_orders)

    def stored(self, cloud: Cloud) -> Shelf[Plain]:
        """Return where they are stored."""
        return cloud.plain.setdefault(self.name, Shelf())

    def body(self, cloud: Cloud, plain: Plain) -> dict[str, object]:
        """Return the body of one."""
        return {
            "id": plain.id,
            "name": plain.name,
            "project_id": plain.project,
            "organization_id": plain.organization,
            self.place: plain.zone,
            "tags": plain.tags,
            "created_at": cloud.zulu(plain.created),
            "updated_at": cloud.zulu(plain.modified),
            **self.fixed,
            **plain.fields,
        }

    def keep(self, call: Call) -> Callable[[Plain], bool]:
        """Return the filter that a query asks for; all of the tags must be there."""
        name, tags, project = call.text("name"), call.texts("tags"), call.id("project_id")
        asked = {field: call.id(query) for query, field in self.filters.items()}
        return lambda plain: (
            name in plain.name
            and all(tag in plain.tags for tag in tags)
            and project in ("", plain.project)
            and all(value in ("", plain.fields[field]) for field, value in asked.items())
        )

    def resource(self) -> Resource[Plain]:
        """Return how it is stored, shown and filtered."""
        return Resource(
            stored=self.stored,
            name=self.name,
            body=self.body,
            style=NEWER.of(self.key),
            keep=self.keep,
            orders=self.orders,
        )

    def create(self, cloud: Cloud, call: Call) -> Answer:
        """Make one."""
        self.check(cloud, call)
        plain = Plain(
            **cloud.born(owner_of(call)), name=text_of(call.body, "name"), tags=tags_of(call.body)
        )
        plain.fields = {name: read(call.body, name) for name, read in self.fields.items()}
        self.stored(cloud).put(plain)
        return self.resource().answer(cloud, plain)

    def update(self, cloud: Cloud, call: Call) -> Answer:
        """Change what a body names of one."""
        resource, body = self.resource(), call.body
        plain = resource.find(cloud, call)
        changed = {n: read(body, n) for n, read in self.fields.items() if body.get(n) is not None}
        tags = tags_of(body) if body.get("tags") is not None else plain.tags
        plain.name = text_of(body, "name") or plain.name
        plain.fields, plain.tags = {**plain.fields, **changed}, tags
        plain.modified = cloud.now
        return resource.answer(cloud, plain)

    def routes(self) -> tuple[Route, ...]:
        """Return its routes."""
        return self.resource().routes(self.name, self.path, create=self.create, update=self.update)
