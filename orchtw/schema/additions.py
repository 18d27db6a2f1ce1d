"""Additions since release 1.24: the kinds, fields and values of the protos that an emulated release has."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import msgspec

_FIRST = (1, 24)
_EVERY = (1, 1_000)  # later than any release


class Additions(msgspec.Struct, frozen=True):
    """Selection of the known additions since release 1.24 (reference KIND-90).

    `release` is the emulated release as (major, minor): what came later is unknown. `off` are the gates whose
    additions are unknown too; `dormant` those whose fields are known, but dropped when objects are written.
    """

    release: tuple[int, int] = _EVERY
    off: frozenset[str] = frozenset()
    dormant: frozenset[str] = frozenset()

    @classmethod
    def of(
        cls, release: tuple[int, int], gates: Mapping[str, bool], defaults: Mapping[str, bool] = MappingProxyType({})
    ) -> Additions:
        """Return the additions under the states of the feature gates, given the gates' `defaults`.

        A gate that was switched off leaves no trace of its fields; those of one that is off by default are dropped.
        """
        off = {name for name, on in gates.items() if not on}
        switched = frozenset(name for name in off if defaults.get(name, True))
        return cls(release, switched, frozenset(off - switched))

    def includes(self, since: str, gate: str = "") -> bool:
        """Report whether what came in release `since`, such as "1.30", is known; "" is what release 1.24 has.

        `gate` may name several gates with commas: each must be on.
        """
        if not since:
            return True
        major, _, minor = since.partition(".")
        release = int(major), int(minor)
        if release <= _FIRST:  # a feature that release 1.24 knows, and leaves off
            return True
        if release > self.release:
            return False
        return not gate or self.off.isdisjoint(gate.split(","))

    def drops(self, since: str, gate: str) -> bool:
        """Report whether a field of these gates, which came in release `since`, is dropped from what is written."""
        if not gate or not since:
            return False
        names = gate.split(",")
        return not self.dormant.isdisjoint(names) or not self.off.isdisjoint(names)


EVERY = Additions()
"""Every addition: for what must read any stored object."""
RELEASE_1_24 = Additions(_FIRST)
"""The release without any addition."""
