"""What the tests of this folder share: Helm, built from a Go module."""

import sys
from pathlib import Path

import pytest

from hostler.lab.controlplane.programs import HELM

sys.path.insert(0, str(Path(__file__).parent))

from rendering import Helm


@pytest.fixture(scope="session")
def helm(tmp_path_factory: pytest.TempPathFactory) -> Helm:
    """Helm itself; the first to ask waits some minutes until it is built."""
    return Helm(HELM.program("helm"), tmp_path_factory.mktemp("helm"))
