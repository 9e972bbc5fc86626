"""Find words that are no longer used, in identifiers, names of modules, and pages of the docs.

.venv/bin/python tools/words.py     exit with 1, and a line for each: file:line: old: write new

WORDS is the list. A word is added to it once nothing uses it any longer.
"""

import io
import re
import sys
import tokenize
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


@dataclass(frozen=True, slots=True)
class Word:
    """Spellings of an old word, what to write instead, and where the old one is refused."""

    old: str
    new: str
    code: bool = True
    pages: bool = True
    whole: bool = False  # only as the whole name of a value: as a piece it is English


WORDS = (
    Word("clerk clerks", "recorder"),
    Word("doors", "frontends"),
    Word("foretell foretells", "prediction check"),
    Word("ghost ghosts", "orphan"),
    Word("looker", "observer"),
    Word("mark marks marked", "owner tag, tag"),
    Word("meters", "metrics"),
    Word("outfit outfitting outfitted", "bootstrap"),
    Word("seasons", "scenarios"),
    Word("stories", "histories"),
    Word("strokes", "disruptions"),
    Word("suspects", "orphans"),
    Word("sweeping", "reclaiming"),
    Word("tenancies", "allocations"),
    Word("theatre", "session, scene"),
    Word("ties", "bindings"),
    Word("trait", "capability"),
    Word("wish wishes wished", "request"),
    Word("wisher", "operator"),
    Word("estate yard", "cloud, inventory, environment", pages=False),
    Word("told said", "output, message, text", pages=False, whole=True),
    Word("kept", "saved, stored, cached", pages=False, whole=True),
    Word("shown", "displayed, listed", pages=False, whole=True),
    Word("given", "settings, values, text", pages=False, whole=True),
    Word("gone", "deleted, absent, missing", pages=False, whole=True),
    # Left in the code of frontends, simulators or experiments, or English in another sense there:
    Word("door", "frontend", code=False),
    Word("ledger ledgers", "orphan report", code=False),
    Word("outfits", "bootstraps", code=False),
    Word("season", "scenario", code=False),
    Word("story", "history", code=False),
    Word("stroke", "disruption", code=False),
    Word("suspect", "orphan", code=False),
    Word("sweep sweeps swept sweeper", "reclaim", code=False),
    Word("tenancy", "allocation", code=False),
    Word("tie", "binding", code=False),
    Word("traits", "capabilities", code=False),
    Word("weather climate", "faults, fault rates", code=False),
    # English in the pages, and names of ours in code no longer:
    Word("fold", "apply the outcome", pages=False),
    Word("land sky", "environment, fault injection", pages=False),
    Word("loose", "unbind", pages=False),
    Word("smallkey smallplain", "canonical form, irrelevance reduction", pages=False),
    Word("tend", "advance", pages=False),
)
"""Every word that is refused, in code, in pages, or in both."""

ALLOWED: Mapping[str, frozenset[str]] = {
    "mark": frozenset({"pytest.mark"}),  # pytest's own name
}
"""Dotted names of others that an old word is a piece of, by the word."""

THEIRS = re.compile(r"from hypothesis import |\s*@given\(")
"""How a line begins on which a whole name is another's: the decorator of hypothesis."""

PAGES_OF_CODE = frozenset(
    f"docs/reference/{name}.md" for name in ("commands", "exit-codes", "metrics")
)
"""Pages that are made from the help texts of frontends: what they say is changed there."""

PIECE = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
"""A piece of an identifier: of `OwnerTag`, `owner_tag` and `OWNER_TAG` there are two."""


@dataclass(frozen=True, slots=True, order=True)
class Finding:
    """One old word where it stands."""

    path: str
    line: int
    old: str
    new: str

    def __str__(self) -> str:
        """Return it as editors read it."""
        return f"{self.path}:{self.line}: {self.old}: write {self.new}"


def main() -> None:
    """Print every old word in the project, and exit with 0 only if there is none."""
    found = sorted({*findings(ROOT)})
    for finding in found:
        print(finding)
    sys.exit(f"old words: {len(found)}; the list is in tools/words.py" if found else 0)


def findings(root: Path) -> Iterator[Finding]:
    """Return the old words in src/, tests/ and docs/ of a project."""
    pages = spellings(word for word in WORDS if word.pages)
    split = spellings(word for word in WORDS if word.code and not word.whole)
    whole = spellings(word for word in WORDS if word.code and word.whole)
    for folder in ("src", "tests"):
        for path in sorted((root / folder).rglob("*.py")):
            name, text = path.relative_to(root).as_posix(), path.read_text(encoding="utf-8")
            yield from in_module_name(name, split)
            yield from in_code(name, text, split, whole)
    for path in sorted((root / "docs").rglob("*.md")):
        name = path.relative_to(root).as_posix()
        if name not in PAGES_OF_CODE:
            yield from in_page(name, path.read_text(encoding="utf-8"), pages)


def spellings(words: Iterable[Word]) -> Mapping[str, str]:
    """Return what to write instead of each spelling."""
    return {old: word.new for word in words for old in word.old.split()}


def in_module_name(path: str, words: Mapping[str, str]) -> Iterator[Finding]:
    """Return the old words in a module's own name and those of its folders."""
    for piece in pieces(path.removesuffix(".py")):
        if piece in words:
            yield Finding(path, 1, piece, words[piece])


def in_code(
    path: str, text: str, words: Mapping[str, str], whole: Mapping[str, str]
) -> Iterator[Finding]:
    """Return the old words in the identifiers of a module; texts and comments are passed over.

    `words` are found as pieces of identifiers, `whole` only as all of one.
    """
    dotted = ""
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        follows = dotted.endswith(".")
        if token.type == tokenize.NAME:
            dotted = dotted + token.string if follows else token.string
            alone = token.string.strip("_")
            if alone in whole and not THEIRS.match(token.line):
                yield Finding(path, token.start[0], alone, whole[alone])
            for piece in pieces(token.string):
                if piece in words and dotted not in ALLOWED.get(piece, ()):
                    yield Finding(path, token.start[0], piece, words[piece])
        else:
            dotted = dotted + "." if token.string == "." and not follows else ""


def in_page(path: str, text: str, words: Mapping[str, str]) -> Iterator[Finding]:
    """Return the old words in a page; names of others (`pytest.mark`) are passed over."""
    for number, line in enumerate(text.splitlines(), start=1):
        for match in re.finditer(r"[A-Za-z]+", line):
            old = match.group().lower()
            if old in words and not is_allowed(old, line[: match.end()]):
                yield Finding(path, number, old, words[old])


def is_allowed(old: str, before: str) -> bool:
    """Tell whether a line ends in a name of others up to here."""
    return before.endswith(tuple(ALLOWED.get(old, ())))


def pieces(name: str) -> Iterator[str]:
    """Return the words that an identifier or a path is made of, in lower case."""
    return (match.group().lower() for match in PIECE.finditer(name))


if __name__ == "__main__":
    main()
