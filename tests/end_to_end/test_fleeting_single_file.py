"""The plugin as a single file: it runs with a Python that has nothing installed."""

import json
import os
import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
NAME = "fleeting-plugin-hostler"
BARE = Path(sys.base_prefix) / "bin" / f"python{sys.version_info.major}.{sys.version_info.minor}"


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("single") / NAME
    builder = ROOT / "tools" / "single_file.py"
    subprocess.run([sys.executable, builder, made], check=True, timeout=120, capture_output=True)
    return made


def environment(built: Path, **more: str) -> dict[str, str]:
    return {"PATH": os.environ["PATH"], "SHIV_ROOT": str(built.parent / "unpacked"), **more}


@pytest.mark.timeout(180)
def test_it_unpacks_itself_and_tells_its_version(built: Path) -> None:
    for _ in range(2):
        ran = subprocess.run(
            [BARE, "-I", built, "version"],
            env=environment(built),
            capture_output=True,
            text=True,
            check=True,
        )
        assert ran.stdout.startswith(f"{NAME} 0.")
    assert len([one for one in (built.parent / "unpacked").iterdir() if one.is_dir()]) == 1


@pytest.mark.timeout(180)
def test_it_has_neither_the_command_line_nor_the_experiments(built: Path) -> None:
    with ZipFile(built) as file:
        names = file.namelist()
    without = ("cyclopts", "rich", "pygments", "hostler/lab", "hostler/simulators")
    assert any(name.startswith("site-packages/hostler/domain/") for name in names)
    assert not [n for n in names if n.startswith(tuple(f"site-packages/{w}/" for w in without))]


@pytest.mark.timeout(180)
def test_it_serves_and_learns_with_what_it_carries(built: Path) -> None:
    variables = environment(built, PLUGIN_PROTOCOL_VERSIONS="1", TMPDIR=str(built.parent))
    with subprocess.Popen(
        [BARE, "-I", built],
        env=variables,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        fields = process.stdout.readline().decode().rstrip("\n").split("|")
        assert fields[:3] == ["1", "1", "unix"]
        first = [json.loads(process.stderr.readline()) for _ in range(2)]
        process.terminate()
        assert process.wait(10) == 0
    assert first[0]["@message"] == "serving"
    assert "schema" in first[1]["@message"]


@pytest.mark.parametrize("variable", ["SHIV_ROOT", "HOME"])
def test_without_a_place_to_unpack_it_says_so_in_a_line(
    built: Path, tmp_path: Path, variable: str
) -> None:
    (tmp_path / "file").write_text("no folder")
    ran = subprocess.run(
        [BARE, "-I", built, "version"],
        env={"PATH": os.environ["PATH"], variable: str(tmp_path / "file" / "home")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ran.returncode, ran.stdout) == (1, "")
    (line,) = ran.stderr.splitlines()
    assert line.startswith(f"[ERROR] {NAME}: there is no folder to unpack this file into (")
    assert "SHIV_ROOT" in line


def test_nothing_of_the_machine_that_built_it_is_in_it(built: Path) -> None:
    subprocess.run([BARE, "-I", built, "version"], env=environment(built), check=True)
    files = [path for path in (built.parent / "unpacked").rglob("*") if path.is_file()]
    assert len(files) > 1000
    assert not [path for path in files if str(ROOT).encode() in path.read_bytes()]
