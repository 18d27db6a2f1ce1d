"""Annotations by which a Deployment numbers its revisions, and by which its ReplicaSets know its size."""

from __future__ import annotations

from typing import Final

from orchtw.naming.naming import Naming
from orchtw.registry.groups.apps.deployments import ROLLBACK
from orchtw.simulation.workloads.deployments.sets import max_surge, size_of
from orchtw.wire.objects import Object

HISTORY_CHARACTERS: Final = 2000
"""Limit of the list of earlier revisions of one ReplicaSet."""


class Annotations:
    """The annotations of one vocabulary."""

    def __init__(self, naming: Naming) -> None:
        self.revision = naming.translate("deployment.orch.io/revision")
        self.history = naming.translate("deployment.orch.io/revision-history")
        self.desired = naming.translate("deployment.orch.io/desired-replicas")
        self.most = naming.translate("deployment.orch.io/max-replicas")
        applied = naming.translate("orchctl.orch.io/last-applied-configuration")
        self._own = frozenset({self.revision, self.history, self.desired, self.most, applied, ROLLBACK})

    def revision_of(self, obj: Object) -> int:
        """Return the revision of a ReplicaSet or Deployment; 0: it has none."""
        return _number(annotations_of(obj).get(self.revision)) or 0

    def latest_revision(self, sets: list[Object]) -> int:
        """Return the highest revision."""
        return max(map(self.revision_of, sets), default=0)

    def copied(self, obj: Object) -> dict[str, str]:
        """Return the annotations that a Deployment and its ReplicaSets share."""
        return {key: value for key, value in annotations_of(obj).items() if key not in self._own}

    def own(self, obj: Object) -> dict[str, str]:
        """Return the annotations that each has of its own."""
        return {key: value for key, value in annotations_of(obj).items() if key in self._own}

    def of_new_set(self, deployment: Object, found: Object | None, revision: int) -> dict[str, str]:
        """Return the annotations of the new ReplicaSet, which may have been `found`, as that of this revision."""
        known = {} if found is None else annotations_of(found)
        wanted = {**known, **self.copied(deployment)}
        before = known.get(self.revision)
        number = _number(before) if before else 0
        if number is not None and number < revision:
            wanted[self.revision] = str(revision)
            if before:
                wanted[self.history] = _appended(known.get(self.history, ""), before)
        if found is None:
            wanted.update(self.sizes(deployment))
        return wanted

    def sizes(self, deployment: Object) -> dict[str, str]:
        """Return the annotations by which a ReplicaSet knows the size of its Deployment."""
        wanted = size_of(deployment)
        return {self.desired: str(wanted), self.most: str(wanted + max_surge(deployment))}

    def desired_of(self, each: Object) -> int | None:
        """Return the Deployment's size when it last looked at a ReplicaSet; None: it never did."""
        return _number(annotations_of(each).get(self.desired))

    def most_of(self, each: Object) -> int | None:
        """Return the Deployment's size and surge when it last looked at a ReplicaSet; None: it never did."""
        return _number(annotations_of(each).get(self.most))


def annotations_of(obj: Object) -> dict[str, str]:
    """Return the annotations of an object."""
    found: dict[str, str] = obj["metadata"].get("annotations") or {}
    return found


def _number(text: str | None) -> int | None:
    digits = (text or "").removeprefix("-")
    if not text or not (digits.isascii() and digits.isdigit()) or len(digits) > 19:
        return None
    return int(text)


def _appended(history: str, revision: str) -> str:
    """Return the list of earlier revisions with one more; the oldest go first when it is too long."""
    revisions = [*filter(None, history.split(",")), revision]
    while len(revisions) > 1 and len(",".join(revisions)) > HISTORY_CHARACTERS:
        del revisions[0]
    return ",".join(revisions)
