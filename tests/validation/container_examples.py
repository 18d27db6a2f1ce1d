"""Examples of rules that hold for containers of every sort, written for regular ones."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import attrs

from tests.validation.examples import Changes, Entry, Refused

if TYPE_CHECKING:
    from tests.validation.case import EntryCase

REGULAR, INITIAL, EPHEMERAL = "spec.containers", "spec.initContainers", "spec.ephemeralContainers"
C = f"{REGULAR}[0]"
"""The container of the base."""
_OTHER = {"name": "other", "image": "i:1"}


@attrs.frozen(slots=True, kw_only=True)
class RefusedAnywhere(Refused):
    """The same is refused in an init container and (unless not `ephemeral`) in an ephemeral one."""

    ephemeral: bool = True

    def run(self, case: EntryCase, entry: Entry) -> None:
        Refused.run(self, case, entry)
        self._moved(INITIAL, "", self.accepts).run(case, _moved_entry(entry, INITIAL))
        if self.ephemeral:
            self._moved(EPHEMERAL, "ephemeralcontainers", None).run(case, _moved_entry(entry, EPHEMERAL))

    def _moved(self, place: str, on: str, accepts: Changes | None) -> Refused:
        made = {f"{place}[0]": _OTHER}
        return Refused(
            on=on or self.on,
            before=self.before if on else {**made, **_moved(self.before, place)},
            change={**(made if on else {}), **_moved(self.change, place)},
            accepts=None if accepts is None else _moved(accepts, place),
            field=self.field.replace(REGULAR, place),
            detail=self.detail,
        )


def _moved(changes: Changes, place: str) -> dict[str, Any]:
    return {path.replace(REGULAR, place): value for path, value in changes.items()}


def _moved_entry(entry: Entry, place: str) -> Entry:
    paths = {key: entry.fact[key].replace(REGULAR, place) for key in ("path", "reportedPath") if key in entry.fact}
    return Entry(entry.number, {**entry.fact, **paths})


def anywhere(key: str, wrong: Any, fine: Any = None, before: Mapping[str, Any] | None = None, **more: Any) -> Refused:
    """`wrong` at the container's `key` is refused anywhere, and `fine` is not."""
    return RefusedAnywhere(
        change={f"{C}.{key}": wrong},
        accepts={} if fine is None else {f"{C}.{key}": fine},
        before={} if before is None else {path.replace("C.", f"{C}."): each for path, each in before.items()},
        **more,
    )
