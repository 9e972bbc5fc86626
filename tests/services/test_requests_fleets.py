"""An adoption that would take nothing over is refused, with what was seen instead."""

import pytest

from hostler.domain.errors import RequestRefused
from hostler.domain.ids import FleetName, InstallationId, ResourceId, Zone
from hostler.domain.model.resource import OrphanClass
from hostler.domain.model.snapshot import Orphan
from hostler.requests.fleets import check_source
from hostler.testing.scenes.builders import BEGIN

WEB = FleetName("web")


def orphan(installation: str, cls: OrphanClass = OrphanClass.FOREIGN) -> Orphan:
    return Orphan(
        resource=ResourceId(f"server of {installation}"),
        kind="server",
        zone=Zone("fr-par-1"),
        fleet=WEB,
        cls=cls,
        first=BEGIN,
        last=BEGIN,
        installation=InstallationId(installation),
    )


def test_without_a_source_foreign_resources_are_named() -> None:
    with pytest.raises(RequestRefused, match="--from h1"):
        check_source([orphan("h1")], WEB, None)


def test_a_source_that_tags_nothing_is_a_mistake() -> None:
    with pytest.raises(RequestRefused, match="were seen: h1"):
        check_source([orphan("h1")], WEB, InstallationId("h2"))


def test_what_takes_something_over_passes() -> None:
    check_source([], WEB, None)
    check_source([], WEB, InstallationId("h9"))
    check_source([orphan("h1")], WEB, InstallationId("h1"))
    check_source([orphan("own", OrphanClass.UNRECORDED)], WEB, None)
    check_source([orphan("own", OrphanClass.UNRECORDED), orphan("h1")], WEB, None)
    check_source([orphan("h1")], FleetName("api"), None)
