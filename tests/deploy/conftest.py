"""What the tests of this folder share: Helm, built from its Go module."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from rendering import PROGRAMS, Helm


@pytest.fixture(scope="session")
def helm(tmp_path_factory: pytest.TempPathFactory) -> Helm:
    """Helm itself; the first to ask waits a minute or two until it is built."""
    return Helm(PROGRAMS.program("helm"), tmp_path_factory.mktemp("helm"))
