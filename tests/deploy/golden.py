"""Write the golden files anew: `make chart`.

Read the difference afterwards: it is what a user's next upgrade brings.
"""

import tempfile
from pathlib import Path

from rendering import DEPLOY, VALUES, Helm

from hostler.lab.controlplane.programs import HELM


def main() -> None:
    """Render each set of values."""
    with tempfile.TemporaryDirectory() as home:
        helm = Helm(HELM.program("helm"), Path(home))
        for name in VALUES:
            text = helm.template("--values", str(DEPLOY / "values" / f"{name}.yaml"))
            (Path(__file__).parent / "golden" / f"{name}.yaml").write_text(text)


if __name__ == "__main__":
    main()
