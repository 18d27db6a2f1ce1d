"""Lister of settings in annotations of namespaces."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeVar

from orchtw.registry.listers.lister import CachedLister
from orchtw.registry.stored import Stored
from orchtw.registry.targets import Targets
from orchtw.watch.entry import Entry

T = TypeVar("T")


def namespace_annotations(targets: Targets, read: Callable[[Mapping[str, str]], T]) -> CachedLister[T]:
    """Return a lister of namespaces by what `read` makes of their annotations (up to 256 KiB), on the reactor."""

    def read_entry(stored: Stored, entry: Entry) -> T:
        return read(stored.metadata(entry, owned=False).get("annotations") or {})

    return CachedLister(targets.stored_target("", "v1", "namespaces").stored, read_entry)
