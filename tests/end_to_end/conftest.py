"""Let the tests of this folder import what they share, and keep nothing outside of their folders.

Importlib mode adds no folder by itself.
"""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture(autouse=True)
def _state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let processes that a test starts keep what they keep in the test's own folder."""
    monkeypatch.setenv("HOSTLER_STATE_DIR", str(tmp_path / "state"))
