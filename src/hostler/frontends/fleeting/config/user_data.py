"""User data: what lets a runner's jobs in, beside the operator's own text for cloud-init.

Where the operator gives none, a small cloud-config is enough. Where there is some, both stand in
one MIME message, and ours says how it is merged: lists are appended, nothing of theirs is replaced.
"""

import json

from hostler.domain.policy.user_data import message, part, part_of

_MERGE = (
    "merge_how:\n"
    "- {name: list, settings: [append]}\n"
    "- {name: dict, settings: [no_replace, recurse_list]}\n"
)


def with_key(user_data: str, user: str, key: str) -> str:
    """Return user data that applies what is given and lets `user` in with `key`.

    `key` is one line of a public key. ValueError where cloud-init would not read what is given.
    """
    if not user_data.strip():
        return _cloud_config(user, key)
    parts = [
        part_of(user_data),
        part("text/cloud-config", _cloud_config(user, key, merged=True)),
    ]
    if user != "root":
        parts.append(part("text/x-shellscript", _script(user, key)))
    return message(parts)


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
