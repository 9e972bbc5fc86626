"""Let the tests of this folder import rigs: importlib mode adds no folder by itself."""

import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "provider-package"

sys.path[:0] = [
    *(str(EXAMPLE / "src"), str(EXAMPLE / "tests"), str(ROOT / "tests" / "providers")),
    str(ROOT / "tests" / "stores" / "kubernetes"),
]
