"""The command `simulate`: seeded runs of every provider that can be simulated."""

from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter
from cyclopts.validators import Number

from hostler.frontends.cli.console.options import Whole
from hostler.lab.simulate.names import INSTANCES, SUMMARIES

if TYPE_CHECKING:
    ProviderName = str
else:
    ProviderName = Literal[tuple(SUMMARIES)]


def simulate(  # noqa: PLR0913 - options of one command
    *,
    provider: Annotated[
        ProviderName,
        Parameter(help="; ".join(f"{name}: {summary}" for name, summary in SUMMARIES.items())),
    ] = INSTANCES,
    seeds: Annotated[
        Whole | None,
        Parameter(
            help="how many disasters; left out: 100, or --seed alone", validator=Number(gte=1)
        ),
    ] = None,
    seed: Annotated[
        Whole | None, Parameter(help="replay this one, or begin with it", validator=Number(gte=0))
    ] = None,
    machines: Annotated[
        Whole | None, Parameter(help="machines in each fleet", validator=Number(gte=1))
    ] = None,
    days: Annotated[
        float | None, Parameter(help="simulated days of each seed", validator=Number(gt=0))
    ] = None,
    jobs: Annotated[
        Whole | None, Parameter(help="processes; left out: one a core", validator=Number(gte=1))
    ] = None,
    bug: Annotated[str, Parameter(help="plant this famous defect; it must be caught")] = "",
    json: Annotated[
        bool, Parameter(name="--json", negative=(), help="end with one JSON object")
    ] = False,
) -> int:
    """Run the whole program through seeded disasters in simulated time; exit 1 if any failed."""
    from hostler.lab.simulate.seeds import main

    return main(
        provider=provider,
        seeds=seeds or (100 if seed is None else 1),
        seed=seed,
        machines=machines,
        days=days,
        jobs=jobs,
        bug=bug,
        json=json,
    )
