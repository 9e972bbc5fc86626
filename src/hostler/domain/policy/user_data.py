"""User data: what cloud-init reads at the first boot, and how two texts of it become one. Pure.

The text depends on nothing but what it is made of: the same parts give the same text after a
restart, and at each try.
"""

import base64
import hashlib
from collections.abc import Iterator, Mapping, Sequence

KINDS: Mapping[str, str] = {
    "#!": "text/x-shellscript",
    "#cloud-config-archive": "text/cloud-config-archive",
    "#cloud-config-jsonp": "text/cloud-config-jsonp",
    "#cloud-config": "text/cloud-config",
    "#cloud-boothook": "text/cloud-boothook",
    "#include-once": "text/x-include-once-url",
    "#include": "text/x-include-url",
    "#part-handler": "text/part-handler",
    "## template: jinja": "text/jinja2",
}
"""How user data may begin, and what it then is; the longer of two beginnings stands first."""

A_KIND = (
    "user data that begins with #cloud-config, #!, #cloud-boothook, #include, #part-handler, "
    "## template: jinja or a MIME header (cloud-init leaves everything else unread)"
)

_MIME = ("content-type:", "mime-version:")
_ADDS = "X-Merge-Type: list(append)+dict(no_replace,recurse_list)+str()\n"
"""The header of a part that adds to those before it: lists are appended, and of what both set the
earlier stays. Source: cloudinit/handlers/cloud_config.py of cloud-init 22.4."""


def joined(first: str, second: str) -> str:
    """Return user data that applies both: the second adds to the first, and replaces nothing of it.

    ValueError where cloud-init would not read one of them; its text has no word of either.
    """
    if not first.strip() or not second.strip():
        return first if first.strip() else second
    return message((part_of(first), part_of(second, adds=True)))


def message(parts: Sequence[str]) -> str:
    """Return one MIME message of these parts."""
    digest = hashlib.sha256("\0".join(parts).encode()).hexdigest()
    return "\n".join(_lines(parts, f"hostler-{digest[:24]}"))


def _lines(parts: Sequence[str], boundary: str) -> Iterator[str]:
    yield f'Content-Type: multipart/mixed; boundary="{boundary}"'
    yield "MIME-Version: 1.0"
    yield ""
    for one in parts:
        yield f"--{boundary}"
        yield one
    yield f"--{boundary}--"
    yield ""


def part_of(text: str, *, adds: bool = False) -> str:
    """Return user data as a part; a MIME message is one as it stands. ValueError: it is none."""
    text = text.lstrip()
    low = text[:100].lower()
    if low.startswith(_MIME):
        return text
    kind = next((kind for word, kind in KINDS.items() if low.startswith(word)), None)
    if kind is None:
        raise ValueError(A_KIND)
    return part(kind, text, adds=adds)


def part(kind: str, text: str, *, adds: bool = False) -> str:
    """Return a text with its headers; letters beyond ASCII do not survive without base64."""
    how = _ADDS if adds else ""
    if text.isascii():
        return f"Content-Type: {kind}\nMIME-Version: 1.0\n{how}\n{text}"
    lines = base64.encodebytes(text.encode()).decode().rstrip("\n")
    head = f'Content-Type: {kind}; charset="utf-8"\nMIME-Version: 1.0'
    return f"{head}\n{how}Content-Transfer-Encoding: base64\n\n{lines}"
