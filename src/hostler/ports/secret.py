"""Secret: a password or a key, where it is read from, and how it stays out of every text."""

from collections.abc import Mapping
from pathlib import Path

from .files import read_text, why_not_read


class Secret:
    """A text that never shows itself: not in a repr, a log, or an exception."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def reveal(self) -> str:
        """Return the text, for the one place that sends it."""
        return self._text

    def hidden_in(self, text: str) -> str:
        """Return `text` with every occurrence of the secret blotted out."""
        return text.replace(self._text, "***") if self._text else text

    def __repr__(self) -> str:
        return "Secret(***)"

    __str__ = __repr__


def read_secret(variable: str | None, file: Path | None, environment: Mapping[str, str]) -> Secret:
    """Return the secret of a file, else of an environment variable, without its ends' white space.

    Raises ValueError, in a sentence, where there is none, and never with any part of it.
    """
    if file is not None:
        try:
            text = read_text(file)
        except (OSError, ValueError) as error:
            raise ValueError(f"{file} cannot be read: {why_not_read(error)}") from None
        if not text.strip():
            raise ValueError(f"{file} is empty")
        return Secret(text.strip())
    text = environment.get(variable, "") if variable is not None else ""
    if variable is not None and not text.strip():
        raise ValueError(f"{variable} is not set in this environment")
    return Secret(text.strip())
