"""Pod templates, and the examples that are the same for all kinds that have one."""

from __future__ import annotations

from typing import Any, Final

from orchtw.wire.objects import Object
from tests.validation.examples import GONE, Accepted, Example, Refused, Stored, Warned

LABELS: Final = {"app": "a"}
SELECTOR: Final = {"matchLabels": LABELS}
TEMPLATE: Final[Object] = {
    "metadata": {"labels": LABELS},
    "spec": {"containers": [{"name": "c", "image": "example.com/c:1"}]},
}
DISK: Final = {"name": "d", "gcePersistentDisk": {"pdName": "d"}}
READ_ONLY_DISK: Final = {"name": "d", "gcePersistentDisk": {"pdName": "d", "readOnly": True}}
NO_SUCH: Final = {"matchExpressions": [{"key": "app", "operator": "Like", "values": ["a"]}]}


def negative(*paths: str, on: str = "") -> list[Example]:
    """Each of these numbers is at least 0."""
    return [Refused(on=on, change={path: -1}, accepts={path: 0}, field=path) for path in paths]


def more_than(limit: str, *paths: str) -> list[Example]:
    """In a status with 5 at `limit`, each of these numbers is at most that."""
    fixed = {limit: 5, "status.replicas": 9 if limit != "status.replicas" else 5, "status.readyReplicas": 5}
    return [Refused(change={**fixed, path: 6}, accepts={**fixed, path: 5}, field=path) for path in paths]


def kept_status(change: dict[str, Any]) -> list[Example]:
    """A status in a create or update is ignored."""
    paths = dict.fromkeys(change, GONE)
    return [Stored(on="create", change=change, expected=paths), Stored(on="update", change=change, expected=paths)]


def generation(change: dict[str, Any]) -> list[Example]:
    """It rises with the spec and with nothing else."""
    return [
        Stored(on="update", change=change, expected={"metadata.generation": 2}),
        Stored(on="update", change={"metadata.labels": {"b": "c"}}, expected={"metadata.generation": 1}),
    ]


WARNED: Final = {"spec.template.spec.nodeSelector": {"beta.orch.io/os": "linux"}}


def warned(kind: str = "", on: str = "") -> Warned:
    """The template is looked at as pods are."""
    return Warned(kind=kind, on=on, change=WARNED, text="spec.template.spec.nodeSelector[beta.orch.io/os]")


SELECTOR_RULES: Final = Refused(
    change={"spec.selector": {"matchLabels": {"app": "no value!"}}}, accepts=None, field="spec.selector.matchLabels",
    detail="a valid label must be",
)  # fmt: skip
UNSELECTED: Final = Refused(change={"spec.template.metadata.labels": {"app": "b"}})
LASTING: Final = Refused(change={"spec.template.spec.restartPolicy": "Never"}, detail='supported values: "Always"')
DEADLINE: Final = Refused(change={"spec.template.spec.activeDeadlineSeconds": 5})
FIXED_SELECTOR: Final = Refused(
    change={"spec.selector.matchLabels": {"b": "c"}, "spec.template.metadata.labels": {"app": "a", "b": "c"}}
)
POD_RULES: Final = Refused(
    change={"spec.template.spec.volumes": [{"name": "Not A Label", "emptyDir": {}}]},
    accepts={"spec.template.spec.volumes": [{"name": "a-label", "emptyDir": {}}]},
    field="spec.template.spec.volumes[0].name",
)
SHARED_DISK: Final = Refused(
    change={"spec.replicas": 2, "spec.template.spec.volumes": [DISK]},
    accepts={"spec.replicas": 2, "spec.template.spec.volumes": [READ_ONLY_DISK]},
)
SINGLE_DISK: Final = Accepted(change={"spec.replicas": 1, "spec.template.spec.volumes": [DISK]})
