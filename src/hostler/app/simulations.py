"""Trials: the commands that need no account: demo, simulator and simulate."""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter
from cyclopts.validators import Number

from hostler.frontends.cli.console.options import Whole

from .compose import Composed

TRIALS = ("demo", "simulator", "simulate")
"""The commands that need no account, in the order of the help."""

SIMULATORS = ("simulator", "simulator scaleway", "simulator power")
"""What `simulator` serves; alone it is Scaleway."""

Json = Annotated[bool, Parameter(name="--json", negative=(), help="end with one JSON object")]
Seed = Annotated[Whole, Parameter(help="of the faults and all delays")]


def trials(verb: str = "") -> dict[str, Callable[..., int]]:
    """Return the commands of this name, or all of them."""
    names = (SIMULATORS if name == "simulator" else (name,) for name in TRIALS)
    return {name: _trial(name) for some in names for name in some if verb in {"", name.split()[0]}}


def _trial(name: str) -> Callable[..., int]:
    """Return one of the commands: what is simulated is imported for `simulate` alone."""
    match name:
        case "demo":
            return demo
        case "simulator" | "simulator scaleway":
            return scaleway
        case "simulator power":
            return power
        case _:
            from .simulate import simulate

            return simulate


def demo(  # noqa: PLR0913 - options of one command
    play: Annotated[
        Literal["servers", "macs", "rack", "kubernetes"],
        Parameter(
            help="servers: five of them through a bad day; macs: a week of hosts that are claimed "
            "from a pool; rack: a day of twelve machines that are switched on and off; kubernetes: "
            "Macs as Machines of Cluster API, rolled, drained and reclaimed"
        ),
    ] = "servers",
    /,
    *,
    seconds: Annotated[
        float | None,
        Parameter(
            help="how long to keep the fleet (20 at least; left out: 60), or what the week of the "
            "Macs takes (5 at least; left out: 40), or the day of the rack (8 at least; left out: "
            "40)",
            validator=Number(gte=5, lte=3600),
        ),
    ] = None,
    seed: Seed = 1,
    price: Annotated[
        float,
        Parameter(help="of the rack: euros for a kilowatt-hour", validator=Number(gte=0, lte=1000)),
    ] = 0.25,
    control_plane: Annotated[
        Literal["auto", "real", "simulated"],
        Parameter(
            help="of kubernetes: real programs of Kubernetes and Cluster API, which are built once "
            "with Go, or simulated ones; auto: real where they can be built"
        ),
    ] = "auto",
    kubeconfig: Annotated[
        Path | None,
        Parameter(help="of kubernetes: a cluster with Cluster API's core and kwok to use instead"),
    ] = None,
    server: Annotated[
        str,
        Parameter(
            help="of kubernetes: the address of that cluster, which says that it is meant: it gets "
            "hostler's kinds, and Nodes that are none"
        ),
    ] = "",
    json: Json = False,
) -> int:
    """Keep simulated servers, Macs or a rack through troubles, and leave nothing behind."""
    if play == "kubernetes":
        from hostler.lab.demo.kubernetes.control_plane import Choice
        from hostler.lab.demo.kubernetes.demo import Options as KubernetesOptions
        from hostler.lab.demo.kubernetes.demo import main as give_kubernetes

        chosen = KubernetesOptions(
            choice=Choice(control_plane), kubeconfig=kubeconfig, server=server, seed=seed
        )
        return give_kubernetes(Composed(), chosen, json=json)
    if play == "macs":
        from hostler.lab.demo.macs.demo import main as give_macs

        return give_macs(Composed().clock(), seconds=seconds or 40.0, seed=seed, json=json)
    if play == "rack":
        from hostler.lab.demo.rack.demo import Options
        from hostler.lab.demo.rack.demo import main as give_rack

        return give_rack(
            Composed(), Options(seconds=seconds or 40.0, seed=seed, price=price), json=json
        )
    from hostler.lab.demo.demo import main

    return main(Composed(), seconds=seconds or 60.0, seed=seed, json=json)


_Port = Annotated[
    Whole, Parameter(help="where it listens; 0: any", validator=Number(gte=0, lte=65535))
]
_Address = Annotated[str, Parameter(help="a loopback address")]
_Speed = Annotated[
    float, Parameter(help="how many times faster than life", validator=Number(gt=0, lte=10_000))
]
_FaultRates = Annotated[
    str, Parameter(help="calm, lively, storm, mac-lively, mac-storm, or a TOML file")
]
_GuestPort = Annotated[
    Whole | None,
    Parameter(
        help="let a listener stand at this port of each server's address while its guest is up",
        validator=Number(gte=1, lte=65535),
    ),
]
_Rate = Annotated[
    float, Parameter(help="requests a second that it lets in; 0: all", validator=Number(gte=0))
]
_Macs = Annotated[
    tuple[str, ...],
    Parameter(
        help="Macs that are there from the start: N[:TYPE[:ZONE[:PREFIX]]]; can be repeated",
        negative=(),
    ),
]
_SshPort = Annotated[
    Whole | None,
    Parameter(
        help="serve SSH on Macs at this port of their addresses; 0: any",
        validator=Number(gte=0, lte=65535),
    ),
]
_MacFloor = Annotated[
    Literal["412", "412-untyped", "400", "403", "mixed"],
    Parameter(help="how a deletion is refused before its date"),
]
_MacGone = Annotated[Literal["403", "404"], Parameter(help="what a Mac that was deleted answers")]
_MacSealed = Annotated[
    float,
    Parameter(
        help="seconds for which a new password is sealed also where it is read",
        validator=Number(gte=0),
    ),
]
_MacVlanPolls = Annotated[
    Whole, Parameter(help="looks before a VLAN is shown, at most", validator=Number(gte=0))
]


def scaleway(  # noqa: PLR0913 - options of one command
    *,
    port: _Port = 8100,
    host: _Address = "127.0.0.1",
    speed: _Speed = 1.0,
    seed: Seed = 1,
    fault_rates: _FaultRates = "calm",
    guest_port: _GuestPort = None,
    rate: _Rate = 0.0,
    macs: _Macs = (),
    ssh: _SshPort = None,
    mac_floor: _MacFloor = "412",
    mac_gone: _MacGone = "403",
    mac_sealed: _MacSealed = 0.0,
    mac_vlan_polls: _MacVlanPolls = 0,
) -> int:
    """Serve a simulated Scaleway over HTTP, until Ctrl-C."""
    from hostler.simulators.scaleway.state.options import MacOptions

    from .simulator import main

    mac_options = MacOptions(
        floor=mac_floor, deleted_status=mac_gone, sealed=mac_sealed, vlan_polls=mac_vlan_polls
    )
    return main(
        host=host,
        port=port,
        speed=speed,
        seed=seed,
        fault_rates=fault_rates,
        guest_port=guest_port,
        rate=rate,
        macs=macs,
        mac_options=mac_options,
        ssh_port=ssh,
    )


_Count = Annotated[Whole, Parameter(help="how many there are", validator=Number(gte=1, lte=1000))]
_Boot = Annotated[
    float,
    Parameter(help="seconds until a machine is up", validator=Number(gte=0, lte=3600)),
]
_Shutdown = Annotated[
    float,
    Parameter(help="seconds that a system takes to end", validator=Number(gte=0, lte=600)),
]
_SystemPort = Annotated[
    Whole,
    Parameter(
        help="what is open at each machine's address while it is up; 0: any",
        validator=Number(gte=0, lte=65535),
    ),
]
_JsonFirst = Annotated[
    bool, Parameter(name="--json", negative=(), help="tell where it is as one JSON object")
]
_FleetFile = Annotated[
    Path | None,
    Parameter(help="write a fleet file for it here, and its secrets beside it"),
]


def power(  # noqa: PLR0913 - options of one command
    *,
    machines: _Count = 12,
    port: _Port = 8200,
    guest_port: _SystemPort = 2222,
    boot: _Boot = 20.0,
    shutdown: _Shutdown = 3.0,
    write_fleet: _FleetFile = None,
    json: _JsonFirst = False,
) -> int:
    """Serve a rack of machines that are switched over many protocols, until Ctrl-C."""
    from hostler.simulators.power.rack.server import Settings

    from .rack import main

    settings = Settings(
        machines=machines, port=port, guest_port=guest_port, boot=boot, shutdown=shutdown
    )
    return main(settings, write_fleet, as_json=json)
