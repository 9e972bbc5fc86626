"""Command line: every command with its real adapters, each imported where it is asked for."""

from collections.abc import Callable, Mapping, Sequence

from hostler.frontends.cli.main import GROUPS, CommandGroups, application, commands
from hostler.frontends.cli.main import main as run_command

from .compose import Composed
from .simulations import TRIALS, trials

RUNNER = "GitLab Runner"
COSTS = "Cost"
POWER = "Power"
JOBS = frozenset({"wake-on-lan", "ssh-shutdown"})
CLUSTERS = "Kubernetes"


def groups(verb: str = "") -> CommandGroups:
    """Return the command of this name, or every command where it names none."""
    if verb in TRIALS:
        return {"Try": trials(verb)}
    own = {"fleeting": (RUNNER, fleeting), "cost": (COSTS, costs)}
    own |= {"kubernetes": (CLUSTERS, clusters), **dict.fromkeys(JOBS, (POWER, power))}
    if verb in own:
        name, made = own[verb]
        return {name: made()}
    found = commands(Composed(), verb)
    if any(verb in name.split()[:1] for names in GROUPS.values() for name in names):
        return found
    return {
        **found,
        COSTS: costs(),
        POWER: power(),
        RUNNER: fleeting(),
        CLUSTERS: clusters(),
        "Try": trials(),
    }


def costs() -> Mapping[str, Callable[..., int]]:
    """Return the command about cost."""
    from .backtest import cost

    return cost()


def power() -> Mapping[str, Callable[..., int]]:
    """Return the commands that switch one machine once, as Jobs do."""
    from .power.commands import ssh_shutdown, wake_on_lan

    return {"wake-on-lan": wake_on_lan, "ssh-shutdown": ssh_shutdown}


def fleeting() -> Mapping[str, Callable[..., int]]:
    """Return the commands about GitLab Runner's plugin, under `hostler fleeting`."""
    from .fleeting.commands import doctor, inspect, pin

    return {"fleeting inspect": inspect, "fleeting doctor": doctor, "fleeting pin": pin}


def clusters() -> Mapping[str, Callable[..., int]]:
    """Return the commands about a cluster, under `hostler kubernetes`."""
    from .kubernetes.commands import crds, import_, install

    return {
        "kubernetes crds": crds,
        "kubernetes install": install,
        "kubernetes import": import_,
    }


def run(argv: Sequence[str]) -> int:
    """Run one command line and return its exit code; the version is told without any command."""
    if list(argv) == ["--version"]:
        return run_command(application({}), argv)
    verb = argv[0] if argv and not argv[0].startswith("-") else ""
    return run_command(application(groups(verb)), argv)
