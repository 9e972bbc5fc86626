"""Commands of `hostler kubernetes`; each imports its work once it is run."""

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from hostler.frontends.cli.console.guard import guarded

Json = Annotated[bool, Parameter(name="--json", negative=(), help="print JSON")]
Kubeconfig = Annotated[
    Path | None,
    Parameter(help="the kubeconfig file; default: KUBECONFIG, ~/.kube/config, or the Pod's own"),
]
Context = Annotated[str | None, Parameter(help="the context in it; default: its current one")]


def crds(*, json: Json = False) -> int:
    """Print the definitions of hostler's kinds, for `kubectl apply --server-side -f -`."""
    from .definitions import show_definitions

    return guarded(json, show_definitions)


def install(
    *,
    kubeconfig: Kubeconfig = None,
    context: Context = None,
    dry_run: Annotated[
        bool,
        Parameter(name="--dry-run", negative=(), help="have the cluster judge, change nothing"),
    ] = False,
    json: Json = False,
) -> int:
    """Install hostler's kinds in a cluster, or bring them up to date, until it serves them."""
    from .definitions import install_definitions

    return guarded(
        json,
        lambda screen: install_definitions(kubeconfig, context, screen, dry_run=dry_run),
    )
