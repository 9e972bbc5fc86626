"""The benchmark of start-up: each command ends with the exit status that it is expected to have."""

import importlib.util
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "benchmarks" / "startup.py"


def test_each_command_ends_as_the_benchmark_expects() -> None:
    spec = importlib.util.spec_from_file_location("startup_benchmark", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    startup = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(startup)
    for command in startup.COMMANDS:
        wall, cpu = startup.once(command)
        assert wall > 0 <= cpu
    startup.COMMANDS["--help",] = 3
    with pytest.raises(SystemExit, match="hostler --help ended with 0"):
        startup.once(("--help",))
