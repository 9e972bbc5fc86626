"""Output: the last of what a host printed, as text that may be kept and shown."""

from hostler.ports.preparer import Hides

LONGEST = 4000
"""Characters of output that are kept."""


class Tail:
    """Takes any amount of output and keeps its end; a secret in it never comes out."""

    def __init__(self, secret: Hides | None, most: int = LONGEST) -> None:
        self._secret, self._most = secret, most
        self._margin = len(secret.reveal().encode()) if secret else 0
        self._data = bytearray()
        self._cut = False

    def feed(self, data: bytes) -> None:
        """Take some output."""
        self._data += data[-self._room :]
        over = len(self._data) - self._room
        if over > 0 or len(data) > self._room:
            self._cut = True
            del self._data[: max(over, 0)]

    def text(self) -> str:
        """Return the end of it, printable.

        The margin holds what the cut may have left of a secret: an end of it, which nobody would
        recognize. Secrets are blotted out first, so that the cut at the margin halves none.
        """
        whole = _hidden(self._data.decode(errors="replace"), self._secret)
        return printable(whole[self._margin :] if self._cut else whole)[-self._most :]

    @property
    def _room(self) -> int:
        """How many bytes are kept: the longest characters, and the margin."""
        return 4 * self._most + self._margin


def line(text: str, secret: Hides | None = None, most: int = 200) -> str:
    """Return text from outside in one line that is not too long, without the secret."""
    words = " ".join(printable(_hidden(text, secret)).split())
    return words if len(words) <= most else f"{words[: most - 1]}…"


def _hidden(text: str, secret: Hides | None) -> str:
    return secret.hidden_in(text) if secret else text


def printable(text: str) -> str:
    """Return text with everything but lines and what can be seen written as an escape."""
    return "".join(c if c.isprintable() or c in "\n\t" else _escape(c) for c in text)


def _escape(character: str) -> str:
    return character.encode("unicode_escape").decode()
