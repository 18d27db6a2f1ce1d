"""The five operators' definitions by name, and their sample objects."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import attrs

from orchtw.wire.objects import Object
from tests.definitions import certificates, databases, gateways, gitops, monitoring


@attrs.frozen(slots=True)
class Operator:
    """Sets of an operator: definitions, and one object of each kind in the storage version."""

    definitions: Callable[[], list[Object]]
    objects: Callable[[], list[Object]]


OPERATORS: Mapping[str, Operator] = {
    "certificates": Operator(certificates.definitions, certificates.objects),
    "monitoring": Operator(monitoring.definitions, monitoring.objects),
    "gitops": Operator(gitops.definitions, gitops.objects),
    "databases": Operator(databases.definitions, databases.objects),
    "gateways": Operator(gateways.definitions, gateways.objects),
}


def plural_of(definitions: list[Object], obj: Object) -> str:
    """The resource of an object's kind."""
    group = obj["apiVersion"].partition("/")[0]
    for each in definitions:
        if (each["spec"]["group"], each["spec"]["names"]["kind"]) == (group, obj["kind"]):
            plural: str = each["spec"]["names"]["plural"]
            return plural
    raise LookupError(obj["kind"])
