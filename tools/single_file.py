"""Build dist/fleeting-plugin-hostler: the plugin with all that it needs, as one executable file.

It is made of what .venv holds, which is what uv.lock names: nothing is downloaded. The file needs a
Python of the same version (3.11 is not 3.12) and platform, and unpacks itself on its first start.
Modules are compiled beforehand, so that the first start need not. Another path may be an argument.
"""

import compileall
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterator
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from io import BytesIO
from pathlib import Path
from py_compile import PycInvalidationMode
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parent.parent
NAME = "fleeting-plugin-hostler"
PROJECT = "hostler"
UNUSED = frozenset({".pyi", ".pyx", ".pxd", ".c", ".h", ".pth", "direct_url.json", "uv_cache.json"})
"""Suffixes and names of files that nothing reads at run time; the last two tell of this machine."""


def main() -> None:
    """Build it, or show what the builder said and exit with its code."""
    made = Path(sys.argv[1] if sys.argv[1:] else ROOT / "dist" / NAME)
    made.parent.mkdir(exist_ok=True)
    begun = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        stage(Path(folder))
        code = pack(Path(folder), made)
    if code:
        sys.exit(code)
    begin_with_check(made)
    size = made.stat().st_size / 1_000_000
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    took = time.perf_counter() - begun
    print(f"{made}: {size:.1f} MB, for Python {version}, in {took:.0f} s")


def stage(folder: Path) -> None:
    """Fill a folder with the project and everything that the plugin needs, compiled."""
    without = left_out()
    for found in closure(without):
        for file in found.files or ():
            if not {file.name, file.suffix} & UNUSED and not {"..", "__pycache__"} & set(
                file.parts
            ):
                copy(Path(str(found.locate_file(file))), folder / file)
    ours = ROOT / "src" / PROJECT
    leave = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ours, folder / PROJECT, ignore=leave, dirs_exist_ok=True)
    for source, place in included().items():
        copy(ROOT / source, folder / place)
    for module in without:
        shutil.rmtree(folder.joinpath(*module.split(".")), ignore_errors=True)
    unchecked = PycInvalidationMode.UNCHECKED_HASH  # valid wherever and whenever it is unpacked
    if not compileall.compile_dir(
        folder, quiet=2, workers=0, stripdir=folder, invalidation_mode=unchecked
    ):
        print("some modules were not compiled; they will be when they are imported")


def tools() -> dict[str, Any]:
    """Return the settings of the project's tools."""
    return tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]


def left_out() -> frozenset[str]:
    """Return the packages, ours and others', that the plugin never imports, by its contract."""
    contracts = tools()["importlinter"]["contracts"]
    (forbidden,) = (one["forbidden_modules"] for one in contracts if one.get("id") == "plugin")
    return frozenset(forbidden)


def closure(without: frozenset[str]) -> Iterator[Distribution]:
    """Return the installed distributions that the plugin needs, the project among them."""
    seen, waiting = set[str](), [PROJECT]
    while waiting:
        name = canonicalize_name(waiting.pop())
        if name in seen or name in without:
            continue
        seen.add(name)
        try:
            found = distribution(name)
        except PackageNotFoundError:
            sys.exit(f"{name} is not installed: make setup")
        waiting += [need.name for need in map(Requirement, found.requires or ()) if wanted(need)]
        yield found


def wanted(need: Requirement) -> bool:
    """Tell whether this environment needs it; extras are left out."""
    return need.marker is None or need.marker.evaluate({"extra": ""})


def included() -> dict[str, str]:
    """Return the files that the wheel takes from elsewhere, by their places in it."""
    forced: dict[str, str] = tools()["hatch"]["build"]["targets"]["wheel"]["force-include"]
    return forced


def copy(source: Path, place: Path) -> None:
    """Copy one file, and make the folders above it."""
    place.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, place)


def pack(folder: Path, made: Path) -> int:
    """Make one executable file of a folder; return the builder's exit code."""
    command = (
        Path(sys.executable).parent / "shiv",
        *("--site-packages", folder),
        *("--console-script", NAME),
        *("--python", "/usr/bin/env python3"),
        *("--output-file", made),
        "--reproducible",
    )
    return subprocess.run(command, check=False).returncode


FIRST = f'''\
"""Unpack, if there is a place for it; say in a line if there is none."""

import os
import sys
from pathlib import Path


def find_place():
    """Return what is wrong with the folder to unpack into, or an empty text."""
    named = os.environ.get("SHIV_ROOT", "")
    try:
        place = Path(named or "~/.shiv").expanduser()
        place.mkdir(parents=True, exist_ok=True)
        if any(place.glob("{NAME}_*")) or os.access(place, os.W_OK | os.X_OK):
            return ""
        return f"{{place}} cannot be written to"
    except OSError as error:
        return f"{{error.filename or place}}: {{error.strerror}}"
    except RuntimeError as error:
        return str(error)


if wrong := find_place():
    sys.exit(
        f"[ERROR] {NAME}: there is no folder to unpack this file into ({{wrong}}): set SHIV_ROOT "
        "to one that this user can write to, or HOME"
    )

import _bootstrap

_bootstrap.bootstrap()
'''
"""What the file runs first. A host logs a line that begins with [ERROR] as an error."""


def begin_with_check(made: Path) -> None:
    """Let the file begin with a look at where it would unpack itself."""
    first, content = made.read_bytes().split(b"\n", 1)
    partial = made.with_suffix(".partial")
    with ZipFile(BytesIO(content)) as source, partial.open("wb") as file:
        file.write(first + b"\n")
        with ZipFile(file, "a", ZIP_DEFLATED) as target:
            for entry in source.infolist():
                main = entry.filename == "__main__.py"
                target.writestr(entry, FIRST if main else source.read(entry))
    partial.chmod(made.stat().st_mode)
    partial.replace(made)


if __name__ == "__main__":
    main()
