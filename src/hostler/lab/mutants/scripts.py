"""Mutants of scripts as bootstrap data: each must be caught by their simulation."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from msgspec.structs import replace

from hostler.domain.model.capabilities import Cleaning
from hostler.domain.policy.bootstrap_data import DataState
from hostler.lab.kubernetes.faults import ClusterScenario, Replicas
from hostler.lab.kubernetes.scripts.scenario import ScriptsScenario

from .clusterapi import Alone
from .mutant import Mutant

_MINUTE = 60.0
_WANTED = tuple(
    Replicas(at=at * _MINUTE, machines=machines) for at, machines in ((1, 2), (20, 0), (35, 4))
)
_ALONE = Alone(scripts=ScriptsScenario(lasts=(70.0, 200.0)), wanted=_WANTED)


def _without_guard(good: Any) -> Any:
    """Begin a script whether or not it was begun."""

    def beginning(*arguments: object) -> str:
        return str(good(*arguments)).replace('mkdir "$b/begun"', 'mkdir -p "$b/begun"')

    return beginning


def _asks_nothing(_: Any) -> Any:
    """Begin a script without asking its host first how it stands."""

    async def run(self: Any, found: Any) -> Any:
        if error := await self._begin(self.data.script):
            return replace(found, error=error)
        stands, error = await self._follow(timedelta(minutes=1))
        return replace(found, error=error) if stands is None else self._answer(found, stands)

    return run


def _writes_nothing(_: Any) -> Any:
    """Write nothing down of a script."""

    def with_run(host: Any, *_arguments: object) -> Any:
        return host

    return with_run


def _is_content(good: Any) -> Any:
    """Take a script that runs for one that has ended well."""

    def answer(self: Any, found: Any, stands: Any) -> Any:
        if stands.state is DataState.RUNNING:
            return replace(found, data=DataState.DONE)
        return good(self, found, stands)

    return answer


def _anybodys(_: Any) -> Any:
    """Take the run on a host for that of each machine."""

    def of(self: Any, _machine: object) -> Any:
        return self

    return of


_SESSION = "access.data_session:DataSession"

MUTANTS: Mapping[str, Mutant[ClusterScenario]] = {
    "script-begun-again": Mutant(
        summary="a script is begun at each login, and its host is not asked whether it was",
        puts=(
            ("access.data_scripts:beginning", _without_guard),
            (f"{_SESSION}.run", _asks_nothing),
        ),
        scenario=_ALONE,
        caught=("once",),
    ),
    "script-not-on-record": Mutant(
        summary="a script is begun before anything of it is on record",
        puts=(("controllers.execute.bootstrap:with_run", _writes_nothing),),
        scenario=_ALONE,
        caught=("recorded",),
    ),
    "ready-while-its-script-runs": Mutant(
        summary="a machine is ready as soon as its script was begun",
        puts=((f"{_SESSION}._answer", _is_content),),
        scenario=_ALONE,
        caught=("provisioned",),
    ),
    "script-of-the-machine-before": Mutant(
        summary="a script that ran on a host for one machine is taken for the next one's",
        puts=(("domain.policy.bootstrap_data:DataRun.of", _anybodys),),
        scenario=replace(_ALONE, cleaning=Cleaning.TRUSTED),
        caught=("provisioned",),
    ),
}
"""Every one of them, by name."""
