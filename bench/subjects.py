"""The kinds that are loaded: where their objects are, what they look like, in which forms they can be had."""

from __future__ import annotations

from dataclasses import dataclass

from bench.bodies import Template, config_map, custom, pod
from bench.custom import GROUP, PLURAL, VERSION
from bench.options import FORMATS

CORE = "/api/v1"


@dataclass(frozen=True, slots=True)
class Subject:
    """A kind, and the body of its objects."""

    plural: str
    template: Template
    prefix: str = CORE
    forms: tuple[str, ...] = FORMATS

    @property
    def singular(self) -> str:
        """Return the singular, `pod` for `pods`."""
        return self.plural.removesuffix("s")

    def within(self, namespace: str) -> str:
        """Return the collection in the namespace with this path."""
        return f"{self.prefix}{namespace.removeprefix(CORE)}/{self.plural}"


def subjects(kib: int) -> dict[str, Subject]:
    """Return all of them by their plural, filled up to `kib` KiB where that is more than they have."""
    found = (
        Subject("configmaps", config_map(kib)),
        Subject("pods", pod(kib)),
        Subject(PLURAL, custom(kib), f"/apis/{GROUP}/{VERSION}", ("json",)),
    )
    return {each.plural: each for each in found}
