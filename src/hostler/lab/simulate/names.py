"""Names: what can be simulated, with the sentence that the help has on each.

Apart from what they name, which is the whole laboratory: who only reads the help waits for none.
"""

from collections.abc import Mapping

INSTANCES, FLEETING, MACS, METAL = "instances", "fleeting", "macs", "metal"
POWER, AUTOSCALER, KUBERNETES = "power", "autoscaler", "kubernetes"

SUMMARIES: Mapping[str, str] = {
    INSTANCES: "engines by themselves",
    FLEETING: "a runner over its plugin",
    MACS: "hosts that are claimed from a pool",
    METAL: "boxes that are switched on and off",
    POWER: "boxes by the methods that switch them",
    AUTOSCALER: "Cluster Autoscaler over such boxes",
    KUBERNETES: "Machines of Cluster API, or Fleets and Hosts as objects, on such boxes",
}
