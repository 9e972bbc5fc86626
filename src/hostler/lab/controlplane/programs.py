"""Programs: a control plane in one file, Cluster API's core, and Helm, built from one Go module.

In one module all of them have one version of what they share, most of which is Kubernetes': it is
compiled once. The first build takes five to ten minutes on two cores for all together, and needs
Go, a module proxy and 4 GB of memory. What was built is kept: in a checkout in its `.cache`, else
in the user's cache folder.
"""

import os
from pathlib import Path

from hostler.testing.peers.go_hosts import GoHosts

KUBERNETES_VERSION = "v1.36.3"
CORE_VERSION = "v1.14.2"
MODULE = "sigs.k8s.io/cluster-api"

_NAMES = "k8s.io/component-base/version"
_NAMED = (
    f"-X {_NAMES}.gitVersion={KUBERNETES_VERSION} -X {_NAMES}.gitMajor=1 -X {_NAMES}.gitMinor=36"
)


def cache_folder() -> Path:
    """Return where programs are kept once they are built."""
    checkout = Path(__file__).parents[4]
    if (checkout / "pyproject.toml").exists():
        return checkout / ".cache"
    named = os.environ.get("XDG_CACHE_HOME")
    return (Path(named) if named else Path.home() / ".cache") / "hostler"


def _programs(packages: str, names: str) -> GoHosts:
    return GoHosts(
        Path(__file__).parent / "module",
        cache_folder() / "controlplane",
        flags=("-p=2", "-gcflags=all=-dwarf=false", f"-ldflags=-s -w {names}"),
        limit=1800,
        oldest=(1, 26),
        packages=packages,
    )


CONTROL_PLANE = _programs("./cmd/...", _NAMED)
"""Its program `testcluster` is etcd and all of Kubernetes', by its first argument."""

CLUSTER_API = _programs(f"{MODULE}/core", f"-X {MODULE}/version.gitVersion={CORE_VERSION}")
"""Its program `core` is the manager of Cluster API's own controllers."""

HELM = _programs("helm.sh/helm/v3/cmd/helm", "")
"""Its program `helm` renders the chart."""
