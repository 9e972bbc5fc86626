"""Host keys: those that hosts showed first, in a file beside the fleet file.

A line is a host's name and its key's fingerprint. Whoever reinstalls a host removes its line.
"""

import os
from pathlib import Path


class HostKeys:
    """The fingerprints on file. A file that cannot be read or written trusts nobody new."""

    def __init__(self, file: Path) -> None:
        self.file = file

    def check(self, name: str, fingerprint: str) -> str:
        """Return what is wrong with a host's key, or an empty string; a first key is pinned."""
        try:
            pinned = self._read()
            if name not in pinned:
                self._write({**pinned, name: fingerprint})
                return ""
        except (OSError, UnicodeError) as error:
            return f"its key cannot be checked: {self.file.name}: {error}"
        if pinned[name] == fingerprint:
            return ""
        return (
            f"it shows the key {fingerprint}, and {self.file.name} has {pinned[name]}: "
            "remove that line if it was reinstalled"
        )

    def _read(self) -> dict[str, str]:
        try:
            lines = self.file.read_text().splitlines()
        except FileNotFoundError:
            return {}
        pairs = (line.split() for line in lines if line and not line.startswith("#"))
        return {pair[0]: pair[1] for pair in pairs if len(pair) == 2}

    def _write(self, pinned: dict[str, str]) -> None:
        """Replace the file whole: a crash leaves the old one or the new one."""
        text = "# host keys as first seen by hostler; remove a line to trust a new key\n"
        text += "".join(f"{name} {pinned[name]}\n" for name in sorted(pinned))
        new = self.file.with_name(f"{self.file.name}.new")
        new.write_text(text)
        os.replace(new, self.file)  # noqa: PTH105 - the atomic one, by its name
