"""Quantities: amounts of resources as Kubernetes writes them, such as 500m, 4 and 16Gi. Pure."""

import re

A_QUANTITY = 'an amount as Kubernetes writes it, such as "4", "500m" or "16Gi"'
PATTERN = r"^[0-9]{1,18}(\.[0-9]{1,9})?(n|u|m|k|M|G|T|P|E|Ki|Mi|Gi|Ti|Pi|Ei)?$"
"""What a file may say of an amount; Kubernetes itself writes more than that."""

_NUMBER = r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)"
_AMOUNT = re.compile(rf"({_NUMBER})(?:([eE][+-]?[0-9]{{1,2}})|([a-zA-Z]+))?")
_UNITS = {
    "": 1.0,
    "n": 1e-9,
    "u": 1e-6,
    "m": 1e-3,
    "k": 1e3,
    "M": 1e6,
    "G": 1e9,
    "T": 1e12,
    "P": 1e15,
    "E": 1e18,
    **{f"{unit}i": 1024.0**power for power, unit in enumerate("KMGTPE", start=1)},
}


def quantity(text: str) -> float | None:
    """Return an amount in its base unit; None where the text is none."""
    match = _AMOUNT.fullmatch(text)
    if match is None or (match[3] or "") not in _UNITS:
        return None
    return float(match[1] + (match[2] or "")) * _UNITS[match[3] or ""]
