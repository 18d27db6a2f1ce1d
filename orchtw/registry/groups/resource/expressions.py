"""Strategy of kinds with selectors of devices, whose expressions are compiled (reference KIND-94)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from orchtw.config.releases import Release
from orchtw.registry.expression_strategy import ExpressionStrategy
from orchtw.registry.groups.resource.selectors import Check
from orchtw.wire.objects import Object


class SelectingStrategy(ExpressionStrategy):
    """Strategy of a kind whose objects may have selectors of devices."""

    shared = False

    def configure(self, gates: Mapping[str, bool]) -> None:
        self.shared = gates["DRAConsumableCapacity"]

    def has_expressions(self, obj: Object) -> bool:
        return any(sources(obj.get("spec")))

    def compiler(self, old: Object | None) -> Check:
        """Return the check of expressions; those of the old object may use what is known, as it was accepted."""
        stored = frozenset(sources(old.get("spec"))) if old is not None else frozenset()

        def check(source: str) -> tuple[str, bool]:
            release: Release | None = None if source in stored else self.release
            from orchtw.schema.cel.devices import selector_problem  # time that the start is spared

            return selector_problem(source, release, shared=self.shared or source in stored)

        return check


def sources(value: object) -> Iterator[str]:
    """Yield the expressions of all selectors in a spec."""
    pending = [value]
    while pending:
        part = pending.pop()
        if isinstance(part, list):
            pending += part
        elif isinstance(part, dict):
            cel = part.get("cel")
            if isinstance(cel, dict) and isinstance(cel.get("expression"), str):
                yield cel["expression"]
            pending += (part[key] for key in ("spec", "devices", *_HOLDERS) if key in part)


_HOLDERS = ("requests", "exactly", "firstAvailable", "selectors")
