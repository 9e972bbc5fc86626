"""Write what clusterctl reads of a provider: `make components`, into dist/clusterctl.

The folder is laid out as clusterctl's local repositories are; the guide about installing says how
it is named in clusterctl's own file. Objects are the chart's, without its hooks: the definitions
stand among them.
"""

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import yaml
from rendering import CHART, DEPLOY, Helm, Manifest, objects

from hostler.lab.controlplane.programs import HELM

PROVIDER = "infrastructure-hostler"
NAMESPACE = "hostler-system"
CONTRACT = "v1beta2"
LABEL = "cluster.x-k8s.io/provider"


def main() -> None:
    """Write both files of this version."""
    folder = DEPLOY.parent / "dist" / "clusterctl" / PROVIDER / f"v{version()}"
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as home:
        found = list(components(Helm(HELM.program("helm"), Path(home))))
    (folder / "infrastructure-components.yaml").write_text(yaml.safe_dump_all(found))
    (folder / "metadata.yaml").write_text(yaml.safe_dump(metadata()))
    sys.stdout.write(f"{folder}\n")


def version() -> str:
    """Return the version of the chart: clusterctl wants three numbers."""
    return str(yaml.safe_load((CHART / "Chart.yaml").read_text())["version"])


def components(helm: Helm) -> Iterator[Manifest]:
    """Return one Namespace, the definitions, and the controller with its rights."""
    yield _labelled({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})
    program = str(Path(sys.executable).parent / "hostler")
    printed = subprocess.run(  # noqa: S603 - our own program
        [program, "kubernetes", "crds"], capture_output=True, check=True
    )
    values = str(DEPLOY / "values" / "components.yaml")
    rendered = helm.run(
        *("template", "hostler", str(CHART), "--namespace", NAMESPACE, "--no-hooks"),
        *("--kube-version", "1.36.3", "--values", values),
    )
    for one in (*objects(printed.stdout.decode()), *objects(rendered)):
        yield _labelled(one)


def _labelled(one: Manifest) -> Manifest:
    labels = {**one["metadata"].get("labels", {}), LABEL: PROVIDER}
    return {**one, "metadata": {**one["metadata"], "labels": labels}}


def metadata() -> Manifest:
    """Return which contract this series of versions keeps."""
    major, minor, _ = version().split(".")
    series = {"major": int(major), "minor": int(minor), "contract": CONTRACT}
    return {
        "apiVersion": "clusterctl.cluster.x-k8s.io/v1alpha3",
        "kind": "Metadata",
        "releaseSeries": [series],
    }


if __name__ == "__main__":
    main()
