"""Strategies of kinds with expressions, which are compiled when an object is validated."""

from __future__ import annotations

from typing import Final

from orchtw.config.releases import LAST, Release
from orchtw.registry.offload import INLINE_BYTES
from orchtw.registry.strategy import Strategy
from orchtw.schema import cel
from orchtw.wire.objects import Object

WORK_OF_A_BYTE: Final = 32
"""Bytes of decoding that cost as much as the compilation of one byte: 2 KiB of expressions take 10 to 30 ms."""


class ExpressionStrategy(Strategy):
    """Strategy of kinds with expressions: new ones may use what the emulated release has (reference POLICY-4)."""

    release: Release = LAST

    def emulate(self, release: Release) -> None:
        self.release = release

    def has_expressions(self, obj: Object) -> bool:
        """Report whether an object may have expressions: by default, all of the kind have."""
        return True

    def work_bytes(self, obj: Object, size_bytes: int) -> int:
        """Return the cost of a write in bytes: expressions take long to compile, and their language to load."""
        if not self.has_expressions(obj):
            return size_bytes
        return size_bytes * WORK_OF_A_BYTE if cel.are_loaded() else max(size_bytes, INLINE_BYTES + 1)
