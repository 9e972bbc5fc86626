"""Make the helpers of these tests importable by their bare names, whoever runs which of them."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
