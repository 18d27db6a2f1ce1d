"""Rule of a fault: the requests that it selects, how it strikes them, and how often."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from orchtw.faults.kinds import BEFORE, CUT, HANGING, RESET, STALE, STATUSES
from orchtw.request import RequestInfo
from orchtw.rules.selectors import ALL_LABELS, LabelSelector

_ENDING: Final = frozenset({*STATUSES.values(), HANGING, RESET})


class FaultSubject(msgspec.Struct, frozen=True, kw_only=True):
    """Name and labels of the object that a request is for; no labels where they are unknown."""

    name: str
    labels: Mapping[str, str] = msgspec.field(default_factory=dict)


class FaultSelection(msgspec.Struct, frozen=True, kw_only=True):
    """Selection of resource requests; an empty tuple selects everything.

    The group "" is the core group, the subresource "" the object itself, and the namespace "" that of cluster-wide
    requests. Names of creates, and labels, are those of the object (see `selects_object`).
    """

    users: tuple[str, ...] = ()
    verbs: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    resources: tuple[str, ...] = ()
    subresources: tuple[str, ...] = ()
    namespaces: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    labels: LabelSelector = ALL_LABELS

    def selects_resource(self, group: str, resource: str) -> bool:
        """Report whether the selection may concern a resource."""
        return (not self.resources or resource in self.resources) and (not self.groups or group in self.groups)

    def selects_request(self, user: str, info: RequestInfo, *, by_name: bool = True) -> bool:
        """Report whether a request is selected, as far as its head tells: labels are left out.

        Without `by_name` the object's name is left out as well, as it is for creates, whose body has it.
        """
        return (
            self.selects_resource(info.group, info.resource)
            and (not self.verbs or info.verb in self.verbs)
            and (not self.users or user in self.users)
            and (not self.subresources or info.subresource in self.subresources)
            and (not self.namespaces or info.namespace in self.namespaces)
            and (not by_name or not self.names or names_nothing(info) or info.name in self.names)
            and (self.labels.empty or is_about_one(info))
        )

    def selects_object(self, subject: FaultSubject) -> bool:
        """Report whether a request's object is selected by its name and labels."""
        return (not self.names or subject.name in self.names) and self.labels.matches(subject.labels)

    def asks_object(self, info: RequestInfo) -> bool:
        """Report whether the decision needs more of the object than the request's head tells."""
        return not self.labels.empty or (bool(self.names) and names_nothing(info))

    def to_json(self) -> dict[str, Any]:
        """Return the fields of the selection that select something."""
        fields = {
            "user": self.users, "verb": self.verbs, "group": self.groups, "resource": self.resources,
            "subresource": self.subresources, "namespace": self.namespaces, "name": self.names,
        }  # fmt: skip
        shown: dict[str, Any] = {name: list(texts) for name, texts in fields.items() if texts}
        return shown if self.labels.empty else {**shown, "labels": str(self.labels)}


EVERYTHING: Final = FaultSelection()


class FaultRule(msgspec.Struct, frozen=True, kw_only=True):
    """Rule of a fault of one kind.

    `status` is the code of the answer, 0 for kinds without one. `seconds` is a wait, or the age of a stale state;
    `in_stream` sends the error as an event, after `after_events` events. `when` is the moment of a reset.

    Of the selected requests the first `after` pass. Each further one is struck with `probability`, by a sequence that
    `seed` determines, up to `times` (0: no limit); `gap` requests pass after each one that is struck.
    """

    kind: str
    selection: FaultSelection = EVERYTHING
    status: int = 0
    message: str = ""
    retry_after_s: int = 0
    seconds: float | None = None
    revisions: int | None = None
    in_stream: bool = False
    after_events: int = 0
    when: str = BEFORE
    times: int = 0
    after: int = 0
    probability: float = 1.0
    seed: int = 0
    gap: int = 0

    @property
    def ends_request(self) -> bool:
        """Report whether the request ends with the fault: no further rule is asked about it."""
        return self.kind in _ENDING and not self.in_stream and self.when == BEFORE

    @property
    def frozen(self) -> bool:
        """Report whether a stale state is that of the moment at which the rule was added."""
        return self.kind == STALE and self.seconds is None and self.revisions is None

    def to_json(self) -> dict[str, Any]:
        """Return the rule's fields that are not at their defaults."""
        fields = {
            "status": self.status, "message": self.message, "retryAfterSeconds": self.retry_after_s,
            "revisions": self.revisions, "inStream": self.in_stream, "times": self.times, "after": self.after,
            "gap": self.gap,
        }  # fmt: skip
        shown: dict[str, Any] = {"fault": self.kind}
        shown |= {name: value for name, value in fields.items() if value}
        if self.seconds is not None:
            shown["seconds"] = self.seconds
        if self.in_stream or self.kind == CUT:
            shown["afterEvents"] = self.after_events
        if self.kind == RESET:
            shown["when"] = self.when
        if self.probability < 1:
            shown |= {"probability": self.probability, "seed": self.seed}
        return {**shown, **self.selection.to_json()}


def names_nothing(info: RequestInfo) -> bool:
    """Report whether a request creates an object, whose name only its body has."""
    return info.verb == "create" and not info.name


def is_about_one(info: RequestInfo) -> bool:
    """Report whether a request is for one object, so that it has labels to select by."""
    return info.verb in ("get", "create", "update", "patch", "delete")
