"""User data: what cloud-init reads at the first boot, with the group's key in it.

Where the operator gives none, a small cloud-config is enough. Where there is some, both stand in
one MIME message, and ours says how it is merged: lists are appended, nothing of theirs is replaced.
The text depends on nothing but what it is made of: a group has the same text after a restart.
"""

import base64
import hashlib
import json
from collections.abc import Iterator, Mapping

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
_MERGE = (
    "merge_how:\n"
    "- {name: list, settings: [append]}\n"
    "- {name: dict, settings: [no_replace, recurse_list]}\n"
)


def with_key(user_data: str, user: str, key: str) -> str:
    """Return user data that applies what is given and lets `user` in with `key`.

    `key` is one line of a public key. ValueError where cloud-init would not read what is given.
    """
    theirs = user_data.lstrip()
    if not theirs:
        return _cloud_config(user, key)
    resources = [
        _resource_of(theirs),
        _resource("text/cloud-config", _cloud_config(user, key, merged=True)),
    ]
    if user != "root":
        resources.append(_resource("text/x-shellscript", _script(user, key)))
    digest = hashlib.sha256("\0".join(resources).encode()).hexdigest()
    boundary = f"hostler-{digest[:24]}"
    return "\n".join(_message(resources, boundary))


def _message(resources: list[str], boundary: str) -> Iterator[str]:
    yield f'Content-Type: multipart/mixed; boundary="{boundary}"'
    yield "MIME-Version: 1.0"
    yield ""
    for resource in resources:
        yield f"--{boundary}"
        yield resource
    yield f"--{boundary}--"
    yield ""


def _resource_of(theirs: str) -> str:
    """Return the operator's user data as a part; a MIME message is one as it stands."""
    low = theirs[:100].lower()
    if low.startswith(_MIME):
        return theirs
    kind = next((kind for word, kind in KINDS.items() if low.startswith(word)), None)
    if kind is None:
        raise ValueError(A_KIND)
    return _resource(kind, theirs)


def _resource(kind: str, text: str) -> str:
    """Return a text with its headers; letters beyond ASCII do not survive without base64."""
    if text.isascii():
        return f"Content-Type: {kind}\nMIME-Version: 1.0\n\n{text}"
    lines = base64.encodebytes(text.encode()).decode().rstrip("\n")
    head = f'Content-Type: {kind}; charset="utf-8"\nMIME-Version: 1.0'
    return f"{head}\nContent-Transfer-Encoding: base64\n\n{lines}"


def _cloud_config(user: str, key: str, *, merged: bool = False) -> str:
    """Return the cloud-config that lets a user in: root, the image's own user, or a new one."""
    quoted = json.dumps(key)
    text = "#cloud-config\n" + (_MERGE if merged else "")
    text += f"ssh_authorized_keys:\n- {quoted}\n"
    if user == "root":
        return text + "disable_root: false\n"
    return text + (
        "users:\n"
        "- default\n"
        f"- name: {json.dumps(user)}\n"
        f"  ssh_authorized_keys: [{quoted}]\n"
        '  sudo: "ALL=(ALL) NOPASSWD:ALL"\n'
        "  shell: /bin/bash\n"
        "  lock_passwd: true\n"
    )


def _script(user: str, key: str) -> str:
    """Return the script that writes the key where the operator's own user of that name was kept."""
    return (
        "#!/bin/sh\n"
        f"home=$(getent passwd '{user}' | cut -d: -f6)\n"
        '[ -n "$home" ] || exit 0\n'
        'file="$home/.ssh/authorized_keys"\n'
        f"grep -qsF '{key}' \"$file\" && exit 0\n"
        'mkdir -p "$home/.ssh"\n'
        f"echo '{key}' >> \"$file\"\n"
        f"chown -R '{user}:' \"$home/.ssh\"\n"
        'chmod 700 "$home/.ssh"\n'
        'chmod 600 "$file"\n'
    )
