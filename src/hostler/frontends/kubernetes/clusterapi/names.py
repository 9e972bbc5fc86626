"""Names: the words of Cluster API's contract, and ours beside them.

Source: Cluster API 1.14, contract v1beta2 (docs/book/src/developer/providers/contracts).
"""

INFRASTRUCTURE = "infrastructure.cluster.x-k8s.io"
"""The group of our machines and clusters: Cluster API's core may read and write what is in it."""

CONTROL_PLANE = "controlplane.cluster.x-k8s.io"
"""The group of the control plane that nobody here manages: the same holds for it."""

CORE = "cluster.x-k8s.io"
VERSION = "v1alpha1"
CORE_VERSION = "v1beta2"

PROVIDER = "infrastructure-hostler"
PROVIDER_LABEL = "cluster.x-k8s.io/provider"
CONTRACTS = ("cluster.x-k8s.io/v1beta1", "cluster.x-k8s.io/v1beta2")
"""Labels of a definition that say which of its versions keep which contract."""

CLUSTER_LABEL = "cluster.x-k8s.io/cluster-name"
PAUSED = "cluster.x-k8s.io/paused"
"""The annotation that pauses an object, whatever its value."""

MANAGED_BY = "cluster.x-k8s.io/managed-by"
"""The annotation that leaves a cluster's infrastructure to somebody else, whatever its value."""

DRY_RUN = "topology.cluster.x-k8s.io/dry-run"
"""The annotation of a template that core tries to change without meaning it."""

FINALIZER = "hostlermachine.infrastructure.cluster.x-k8s.io"
"""What keeps a HostlerMachine until its machine is asked to go, and went."""

RELEASE_POLICY = "hostler.dev/release-policy"
FORMER_RELEASE_POLICY = "tuist.dev/release-policy"
TERMINATE = "terminate"
"""The value of either that gives a host up with its machine, at the end of its paid period."""

BOOTSTRAP_KEY = "value"
"""The key of a secret that has bootstrap data, or a kubeconfig."""

FORMAT_KEY, CLOUD_CONFIG, SCRIPT = "format", "cloud-config", "script"
"""The key that names the format of bootstrap data; what it is without one; and another one."""

KUBECONFIG_SUFFIX = "-kubeconfig"

ADOPT = "hostler.dev/adopt"
"""The annotation by which a person says, with a host's whole name, that it is taken as it is."""

FORMER_SCHEME = "scw-applesilicon://"
"""How the providerIDs begin that an older provider gave to Macs."""

SYSTEM = "kube-system"
"""The namespace whose uid tells clusters apart."""

ACTOR = "cluster-api"
"""Who asks, in records and events."""
