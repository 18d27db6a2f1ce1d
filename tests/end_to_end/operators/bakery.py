"""The kind that the operators look after."""

from __future__ import annotations

from orchtw.wire.objects import Object
from tests.definitions.build import (
    AGE,
    choice,
    column,
    definition,
    mapped,
    part,
    ready_column,
    text,
    version,
    whole,
)
from tests.definitions.workloads import conditions

PLURAL = "bakeries"


def bakery(group: str) -> Object:
    """A kind with everything that kubectl shows: two versions, columns, names, a status and a scale."""
    spec = part(
        "flour", flour=choice("rye", "wheat", "spelt", description="The flour of the bread."),
        ovens=whole(0, 20, default=1, description="Number of ovens that are on."), labels=mapped(),
        notes=text(maxLength=40),
    )  # fmt: skip
    status = part(
        ovens=whole(), selector=text(), conditions=conditions(), observedGeneration=whole(),
        more={"x-orch-preserve-unknown-fields": True},
    )  # fmt: skip
    scale = {
        "specReplicasPath": ".spec.ovens", "statusReplicasPath": ".status.ovens",
        "labelSelectorPath": ".status.selector",
    }  # fmt: skip
    columns = [
        column("Flour", ".spec.flour"), column("Ovens", ".spec.ovens", "integer"), ready_column(), AGE,
        column("Notes", ".spec.notes", priority=1),
    ]  # fmt: skip
    about = {"description": "A place where bread is made.", "scale": scale, "additionalPrinterColumns": columns}
    old = {"deprecated": True, "deprecationWarning": "v1beta1 is old bread"}
    return definition(
        group, "Bakery", [version("v1beta1", spec, status, **old, **about), version("v1", spec, status, **about)],
        plural=PLURAL, short="bk", category="food",
    )  # fmt: skip
