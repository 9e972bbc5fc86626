"""Commands of `hostler kubernetes`; each imports its work once it is run."""

from dataclasses import dataclass
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


@Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Which namespace of which cluster."""

    namespace: Annotated[str | None, Parameter(help="the namespace; default: the context's")] = None
    kubeconfig: Kubeconfig = None
    context: Context = None


def import_(
    *,
    provider: Annotated[
        str | None,
        Parameter(
            help="the Provider of all hosts; default: homelab for boxes, macs for Macs",
        ),
    ] = None,
    place: Place | None = None,
    dry_run: Annotated[
        bool, Parameter(name="--dry-run", negative=(), help="print the objects, write nothing")
    ] = False,
    json: Json = False,
) -> int:
    """Write objects of ours for what older programs left in a namespace.

    These are the Groups and Nodes of the homelab autoscaler, and the machines, templates and
    cluster of the Cluster API provider for Macs (ScalewayAppleSiliconMachine). Fleets begin paused,
    and what is to be on stays on: nothing is switched, claimed or renamed by this.
    """
    from hostler.frontends.kubernetes.connecting import Target

    from .importing import import_objects

    named = place or Place()
    target = Target(kubeconfig=named.kubeconfig, context=named.context, namespace=named.namespace)
    return guarded(json, lambda screen: import_objects(target, provider, screen, dry_run=dry_run))
