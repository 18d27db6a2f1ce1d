"""Shard selectors: ranges of the hash of a metadata field, the parameter `shardSelector` (reference READ-29)."""

from __future__ import annotations

from typing import Final

import msgspec

UID: Final = "object.metadata.uid"
NAMESPACE: Final = "object.metadata.namespace"

_FNV_OFFSET: Final = 0xCBF29CE484222325
_FNV_PRIME: Final = 0x100000001B3


class ShardRange(msgspec.Struct, frozen=True):
    """Hashes from `start` up to but not including `end`."""

    start: int
    end: int

    def __str__(self) -> str:
        """Return both bounds with all digits."""
        return f"'{self.start:#018x}', '{self.end:#018x}'"


class ShardSelector(msgspec.Struct, frozen=True):
    """Selection of objects by the hash of `field`, which is `UID` or `NAMESPACE`; hashable, and equal by value."""

    field: str
    ranges: tuple[ShardRange, ...]

    def selects(self, value: str) -> bool:
        """Report whether an object with that value of the field is selected."""
        hashed = fnv1a_64(value.encode())
        for each in self.ranges:
            if each.start <= hashed < each.end:
                return True
        return False

    def __str__(self) -> str:
        """Return the selector with all digits, as `shardInfo` of a list shows it."""
        return " || ".join(f"shardRange({self.field}, {each})" for each in self.ranges)


def fnv1a_64(data: bytes) -> int:
    """Return the 64-bit FNV-1a hash."""
    hashed = _FNV_OFFSET
    for byte in data:
        hashed = ((hashed ^ byte) * _FNV_PRIME) & 0xFFFFFFFFFFFFFFFF
    return hashed
