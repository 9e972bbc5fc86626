"""Programs: a control plane in one file, and Cluster API's core, built from their Go modules.

The first build takes five to ten minutes on two cores for both together, and needs
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
_MODULES = Path(__file__).parent / "modules"


def cache_folder() -> Path:
    """Return where programs are kept once they are built."""
    checkout = Path(__file__).parents[4]
    if (checkout / "pyproject.toml").exists():
        return checkout / ".cache"
    named = os.environ.get("XDG_CACHE_HOME")
    return (Path(named) if named else Path.home() / ".cache") / "hostler"


CONTROL_PLANE = GoHosts(
    _MODULES / "cluster",
    cache_folder() / "controlplane",
    flags=("-p=2", "-gcflags=all=-dwarf=false", f"-ldflags=-s -w {_NAMED}"),
    limit=1800,
    oldest=(1, 26),
)
"""Its program `testcluster` is etcd and all of Kubernetes', by its first argument."""

CLUSTER_API = GoHosts(
    _MODULES / "clusterapi",
    cache_folder() / "clusterapi",
    flags=(
        "-p=2",
        "-gcflags=all=-dwarf=false",
        f"-ldflags=-s -w -X {MODULE}/version.gitVersion={CORE_VERSION}",
    ),
    limit=1800,
    oldest=(1, 26),
    packages="tool",
)
"""Its program `core` is the manager of Cluster API's own controllers."""
