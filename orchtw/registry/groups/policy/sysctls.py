"""Lists of kernel parameters: names, and prefixes that end in `*`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from orchtw.errors import MAX_CAUSES, Cause
from orchtw.values.causes import forbidden, invalid

LONGEST_BYTES: Final = 253

SAFE: Final = frozenset(
    (
        *("kernel.shm_rmid_forced", "net.ipv4.ip_local_port_range", "net.ipv4.tcp_syncookies"),
        *("net.ipv4.ping_group_range", "net.ipv4.ip_unprivileged_port_start"),
    )
)
"""Kernel parameters that affect only the pod that sets them."""

_PATTERN = r"([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\./])*([a-z0-9][-_a-z0-9]*)?[a-z0-9*]"
_matches = re.compile(_PATTERN).fullmatch
_FORM = f"must have at most {LONGEST_BYTES} characters and match regex {_PATTERN}"


def sysctl_causes(field: str, sysctls: Sequence[str]) -> list[Cause]:
    """Return the causes for invalid names, and for `*` beside others."""
    causes: list[Cause] = []
    for index, sysctl in enumerate(sysctls):
        if not sysctl:
            causes.append(invalid(f"{field}[{index}]", sysctl, "empty sysctl not allowed"))
        elif len(sysctl) > LONGEST_BYTES or not _matches(sysctl):
            causes.append(invalid(f"{field}[{index}]", sysctl, _FORM))
        if len(causes) > MAX_CAUSES:
            break
    if len(sysctls) > 1 and any(sysctl.startswith("*") for sysctl in sysctls):
        causes.append(forbidden(f"{field}.items", "if '*' is present, must not specify other sysctls"))
    return causes


def overlap_causes(field: str, sysctls: Sequence[str], others: Sequence[str], *, equal: bool) -> list[Cause]:
    """Return the causes for `sysctls` at `field` that `others` cover too; the same ones only if `equal`."""
    if not sysctls or not others:
        return []
    known = set(others)
    beginnings = {other[:-1] for other in known if other.endswith("*")}
    causes: list[Cause] = []
    for index, sysctl in enumerate(sysctls):
        overlapping = sysctl if equal and sysctl in known else _covering(sysctl, beginnings, equal=equal)
        if overlapping:
            shown = overlapping[:LONGEST_BYTES]
            causes.append(invalid(f"{field}[{index}]", sysctl, f"sysctl overlaps with {shown}"))
        if len(causes) > MAX_CAUSES:
            break
    return causes


def _covering(sysctl: str, beginnings: set[str], *, equal: bool) -> str:
    """Return the shortest pattern that covers a parameter or pattern, or ""."""
    is_pattern = sysctl.endswith("*")
    name = sysctl.removesuffix("*")
    for length in range(min(len(name), LONGEST_BYTES) + 1):
        if name[:length] in beginnings and (equal or not is_pattern or length < len(name)):
            return name[:length] + "*"
    return ""
