"""Why an adoption that finds nothing is refused, in words."""

import pytest
from msgspec.structs import replace

from hostler.domain.fleets.adoption import answered
from hostler.domain.fleets.answers import RequestAnswer
from hostler.domain.ids import InstallationId
from hostler.domain.model.snapshot import Request, RequestKind
from hostler.testing.scenes.builders import BEGIN, WEB
from hostler.testing.scenes.hosts import fleet_snapshot

ADOPT = Request(number=1, kind=RequestKind.ADOPT, fleet=WEB, at=BEGIN, actor="ann")


@pytest.mark.parametrize(
    ("source", "why"),
    [
        (None, "nothing was found that could be adopted"),
        ("h1", "nothing of the installation h1 was found that could be adopted"),
    ],
)
def test_it_names_the_installation_of_which_there_is_nothing(source: str | None, why: str) -> None:
    request = replace(ADOPT, installation=InstallationId(source) if source else None)
    snapshot = replace(fleet_snapshot(()), requests=(request,))
    (answer,) = answered((RequestAnswer(request=request),), (), snapshot)
    assert answer.refusal == why
