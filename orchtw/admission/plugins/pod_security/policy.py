"""Policy of a namespace: a level and version for each mode, from its labels (reference PLUG-35)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

import attrs
import msgspec

from orchtw.errors import Cause
from orchtw.naming.naming import Naming
from orchtw.values.causes import invalid

PRIVILEGED: Final = "privileged"
BASELINE: Final = "baseline"
RESTRICTED: Final = "restricted"
LEVELS: Final = (PRIVILEGED, BASELINE, RESTRICTED)
"""Levels, from the loosest to the strictest."""

LATEST: Final = "latest"
MODES: Final = ("enforce", "audit", "warn")
NO_LEVEL: Final = f"must be one of {', '.join(LEVELS)}"
NO_VERSION: Final = 'must be "latest" or "v1.x"'

_VERSION: Final = re.compile(r"v1\.(0|[1-9][0-9]*)")
_INT64: Final = 1 << 63


class Standard(msgspec.Struct, frozen=True):
    """Level of the standards in a version: "latest", or "v1." and a number."""

    level: str
    version: str = LATEST

    def __str__(self) -> str:
        return f"{self.level}:{self.version}"

    @property
    def minor(self) -> int | None:
        """Return the minor version, or None for the latest."""
        return None if self.version == LATEST else int(self.version.partition(".")[2])


LOOSEST: Final = Standard(PRIVILEGED)


@attrs.frozen(slots=True, kw_only=True)
class NamespacePolicy:
    """Policy of a namespace. `problems` are those of its labels, in whose place `Labels.read` sets values."""

    enforce: Standard = LOOSEST
    audit: Standard = LOOSEST
    warn: Standard = LOOSEST
    problems: tuple[Cause, ...] = ()
    templates_pass: bool = attrs.field(init=False)
    """True if pod templates need no check."""

    pods_pass: bool = attrs.field(init=False)
    """True if pods need no check either."""

    @templates_pass.default
    def _templates_pass(self) -> bool:
        return not self.problems and self.audit.level == self.warn.level == PRIVILEGED

    @pods_pass.default
    def _pods_pass(self) -> bool:
        return self.templates_pass and self.enforce.level == PRIVILEGED


def is_level(text: str) -> bool:
    """Report whether `text` is a level."""
    return text in LEVELS


def is_version(text: str) -> bool:
    """Report whether `text` is a version, possibly a future one."""
    if text == LATEST:
        return True
    found = _VERSION.fullmatch(text)
    return found is not None and int(found[1]) < _INT64


def stricter(new: Standard, old: Standard) -> bool:
    """Report whether `new` may reject pods that `old` admits."""
    if new == old or new.level == PRIVILEGED:
        return False
    return new.version != old.version or LEVELS.index(new.level) > LEVELS.index(old.level)


class Labels:
    """Reader of the labels in one vocabulary, with defaults for missing ones."""

    def __init__(self, naming: Naming, defaults: NamespacePolicy) -> None:
        self._defaults = defaults
        names = [(mode, f"pod-security.orch.io/{mode}") for mode in MODES]
        translate = naming.translate
        self._names = [(mode, translate(name), translate(f"{name}-version")) for mode, name in names]

    def read(self, labels: Mapping[str, str]) -> NamespacePolicy:
        """Return the policy of a namespace with these labels.

        In place of an invalid level, enforce takes restricted and the other modes privileged; an invalid version
        becomes latest.
        """
        standards: dict[str, Any] = {}
        problems: list[Cause] = []
        for mode, level_name, version_name in self._names:
            found: Standard = getattr(self._defaults, mode)
            level, version = labels.get(level_name, found.level), labels.get(version_name, found.version)
            if not is_level(level):
                problems.append(invalid(f"metadata.labels[{level_name}]", level, NO_LEVEL))
                level = RESTRICTED if mode == "enforce" else PRIVILEGED
            if not is_version(version):
                problems.append(invalid(f"metadata.labels[{version_name}]", version, NO_VERSION))
                version = LATEST
            standards[mode] = Standard(level, version)
        return NamespacePolicy(problems=tuple(problems), **standards)
