"""The page of Cluster API's contract names tests that there are, at least one for each rule."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "explanation" / "cluster-api-contract.md").read_text()
ROW = re.compile(r"^\| (?!Rule|-)(.+?) \| (.+) \|$", re.MULTILINE)


def test_every_rule_has_a_test_that_is_there() -> None:
    known = {
        name
        for path in (ROOT / "tests").rglob("test_*.py")
        for name in re.findall(r"^\s*(?:async )?def (test_\w+)", path.read_text(), re.MULTILINE)
    }
    rules = ROW.findall(PAGE)
    assert len(rules) > 40
    for rule, tests in rules:
        named = set(re.findall(r"`(test_\w+)`", tests))
        assert named, rule
        assert named <= known, (rule, named - known)
