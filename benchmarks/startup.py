"""How long a person waits for the first letter: whole processes, the best of several runs."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HOSTLER = Path(sys.executable).parent / "hostler"
FILE = Path(__file__).resolve().parent.parent / "examples" / "web.toml"
RUNS = 7
GOAL = 0.5
UNOBSERVED = 7
"""How `orphans` ends where no engine has run: nobody could have seen any."""
COMMANDS: dict[tuple[str, ...], int] = {
    ("--help",): 0,
    ("--version",): 0,
    ("check", FILE.name): 0,
    ("status", FILE.name): 0,
    ("orphans", FILE.name): UNOBSERVED,
    ("demo", "--help"): 0,
}
"""What is run, and the exit status that it ends with."""


def main() -> None:
    """Print a line for each command: the wall's time, and the processor's beside it."""
    as_json = "--json" in sys.argv[1:]
    for command in COMMANDS:
        measured = [once(command) for _ in range(RUNS)]
        wall, cpu = (min(times) for times in zip(*measured, strict=True))
        name = f"start-up of {command[0]}" + (" --help" if command[1:] == ("--help",) else "")
        if as_json:
            line = {"name": name, "goal": GOAL, "figure": round(wall, 3), "unit": "s"}
            print(json.dumps(line))
        else:
            print(f"{name:<24} goal {GOAL:4.2f} s   {wall:5.3f} s   ({cpu:5.3f} s of processor)")


def once(command: tuple[str, ...]) -> tuple[float, float]:
    """Run one command and return the seconds that passed and the seconds of processor time."""
    with tempfile.TemporaryDirectory(prefix="hostler-startup-") as folder:
        for file in (FILE, FILE.with_name("simulator.key")):
            shutil.copy(file, folder)  # beside the example itself an engine may have run
        before, begun = os.times(), time.perf_counter()
        run = subprocess.run([HOSTLER, *command], cwd=folder, capture_output=True)  # noqa: S603, PLW1510 - ours
        passed, after = time.perf_counter() - begun, os.times()
    if run.returncode != COMMANDS[command]:
        sys.exit(f"hostler {' '.join(command)} ended with {run.returncode}: {run.stderr.decode()}")
    used = after.children_user + after.children_system
    return passed, used - before.children_user - before.children_system


if __name__ == "__main__":
    main()
