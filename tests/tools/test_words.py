"""Words that are no longer used are found where they stand, and names of others are not."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "tools" / "words.py"


def check(root: Path, files: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """Run the check on a project of these files."""
    (root / "tools").mkdir()
    script = shutil.copy(SCRIPT, root / "tools")
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return subprocess.run(  # noqa: S603 - our own script
        [sys.executable, script], capture_output=True, text=True, check=False
    )


def test_a_project_without_old_words_passes(tmp_path: Path) -> None:
    done = check(
        tmp_path, {"src/recorder.py": "class Recorder: ...\n", "docs/guide.md": "# Requests\n"}
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.parametrize("name", ["Looker", "my_looker", "LOOKER_ID", "lookerOf", "_looker2"])
def test_an_old_word_in_an_identifier_fails_with_its_place(tmp_path: Path, name: str) -> None:
    done = check(tmp_path, {"src/fleet.py": f'"""Fleet."""\n\n{name} = 1\n'})
    assert done.returncode == 1
    assert done.stdout == "src/fleet.py:3: looker: write observer\n"
    assert "old words: 1; the list is in tools/words.py" in done.stderr


@pytest.mark.parametrize(
    ("name", "found"), [("told", 1), ("_told", 1), ("told_twice", 0), ("estate_of", 1)]
)
def test_a_word_may_be_old_as_a_whole_name_only(tmp_path: Path, name: str, found: int) -> None:
    done = check(tmp_path, {"src/hostler/stores/past.py": f"{name} = 1\n"})
    assert len(done.stdout.splitlines()) == found


def test_the_decorator_of_hypothesis_is_no_old_word_and_a_value_of_that_name_is(
    tmp_path: Path,
) -> None:
    text = "from hypothesis import given\n\n\n@given(x)\ndef test_it(given): ...\n"
    done = check(tmp_path, {"tests/stores/test_past.py": text})
    assert done.stdout == "tests/stores/test_past.py:5: given: write settings, values, text\n"


def test_an_old_word_in_the_name_of_a_test_module_fails(tmp_path: Path) -> None:
    done = check(tmp_path, {"tests/test_clerk.py": ""})
    assert (done.returncode, done.stdout) == (1, "tests/test_clerk.py:1: clerk: write recorder\n")


def test_an_old_word_in_a_page_fails_whatever_its_case(tmp_path: Path) -> None:
    done = check(tmp_path, {"docs/guide.md": "# Guide\n\nWrite a Wish.\nA sweep, or two sweeps.\n"})
    assert done.returncode == 1
    assert done.stdout.splitlines() == [
        "docs/guide.md:3: wish: write request",
        "docs/guide.md:4: sweep: write reclaim",
        "docs/guide.md:4: sweeps: write reclaim",
    ]


def test_texts_and_resources_of_longer_words_are_passed_over(tmp_path: Path) -> None:
    text = 'ghostly, tended = "clerk", 1  # a clerk\n'
    done = check(
        tmp_path,
        {"src/fleet.py": text, "docs/guide.md": "Markdown; `@pytest.mark.looptime`.\n"},
    )
    assert (done.returncode, done.stdout) == (0, "")
