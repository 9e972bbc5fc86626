"""The reference says what the code says; the links of README lead somewhere."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from hostler.app.command_line import groups

ROOT = Path(__file__).parents[2]
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])


def test_the_reference_is_as_the_code_makes_it() -> None:
    script = ROOT / "tools" / "docs.py"
    done = subprocess.run(  # noqa: S603 - our own script
        [sys.executable, str(script), "check"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_every_command_of_the_pages_exists() -> None:
    known = {name for found in groups().values() for name in found}
    verbs = set[str]()
    for page in PAGES:
        text = page.read_text()
        code = "\n".join(re.findall(r"```(?:sh|console|text)\n(.*?)```", text, re.DOTALL))
        message = re.findall(
            r"^(?:\$ )?(?:\.venv/bin/)?hostler "
            r"((?:fleeting |kubernetes |store )?[a-z]+(?:-[a-z]+)*)",
            code,
            re.MULTILINE,
        )
        verbs |= set(message)
    assert verbs
    assert verbs <= known


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_pages_draw_nothing_that_must_be_fetched(page: Path) -> None:
    assert "```mermaid" not in page.read_text()


def test_links_of_the_readme_lead_somewhere() -> None:
    links = re.findall(r"\]\(([^)#]+)", (ROOT / "README.md").read_text())
    missing = [link for link in links if "://" not in link and not (ROOT / link).exists()]
    assert links
    assert missing == []
