"""Priority levels: limits, and the handling of excess requests (reference FLOW-2, FLOW-4)."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import count
from math import log2
from typing import Final

from orchtw.errors import Cause
from orchtw.naming.names import Naming
from orchtw.registry.groups.flowcontrol.mandatory import EXEMPT, PRIORITY_LEVELS, fixed_causes
from orchtw.registry.kind import KindRecord
from orchtw.registry.traits import SPEC
from orchtw.schema.tables import cells_cluster
from orchtw.schema.validation.validators import Check
from orchtw.values.causes import forbidden, invalid, required
from orchtw.wire.objects import Object

_MAX_QUEUES: Final = 10_000_000
_MAX_ENTROPY_BITS: Final = 60
_POSITIVE: Final = "must be positive"


def validate_priority_level(new: Object, old: Object | None, naming: Naming) -> list[Cause]:
    """Validate that `exempt` is the one level without limits."""
    name, kind = new["metadata"].get("name", ""), new["spec"].get("type", "")
    causes = []
    if (name == EXEMPT) is not (kind == "Exempt"):
        causes.append(invalid("spec.type", kind, "type must be 'Exempt' if and only if name is 'exempt'"))
    return causes + fixed_causes(new, PRIORITY_LEVELS)


def check_level(new: Object, old: Object | None) -> list[Cause]:
    """Validate that a level has limits if, and only if, it is limited."""
    kind, limits = new.get("type"), new.get("limited")
    if kind == "Exempt" and limits is not None:
        return [forbidden("limited", "must be nil if the type is not Limited")]
    if kind == "Limited" and limits is None:
        return [required("limited", "must not be empty when type is Limited")]
    return []


def check_response(new: Object, old: Object | None) -> list[Cause]:
    """Validate that there are queues if requests are queued. The texts say Limited for Queue, as the release's do."""
    kind, queues = new.get("type"), new.get("queuing")
    if kind == "Reject" and queues is not None:
        return [forbidden("queuing", "must be nil if limited.limitResponse.type is not Limited")]
    if kind == "Queue" and queues is None:
        return [required("queuing", "must not be empty if limited.limitResponse.type is Limited")]
    return []


def check_queues(new: Object, old: Object | None) -> list[Cause]:
    """Validate the queues: the hash of 60 bits must suffice to deal a hand from all of them."""
    queues, hand = new.get("queues", 0), new.get("handSize", 0)
    causes = []
    if queues <= 0:
        causes.append(invalid("queues", queues, _POSITIVE))
    elif queues > _MAX_QUEUES:
        causes.append(invalid("queues", queues, f"must not be greater than {_MAX_QUEUES}"))
    if hand <= 0:
        causes.append(invalid("handSize", hand, _POSITIVE))
    elif hand > queues:
        causes.append(invalid("handSize", hand, f"should not be greater than queues ({queues})"))
    elif not _can_be_dealt(queues, hand):
        text = f"required entropy bits of deckSize {queues} and handSize {hand} should not be greater than "
        causes.append(invalid("handSize", hand, f"{text}{_MAX_ENTROPY_BITS}"))
    return causes


def _can_be_dealt(deck: int, hand: int) -> bool:
    """Report whether _MAX_ENTROPY_BITS bits suffice to deal the hand; decided after about twenty cards."""
    bits = 0.0
    for left in count(deck, -1):
        if bits > _MAX_ENTROPY_BITS or left == deck - hand:
            break
        bits += log2(left)
    return bits <= _MAX_ENTROPY_BITS


def checks(naming: Naming) -> Mapping[str, Check]:
    """Return the checks by message name."""
    package = "orch.io.api.flowcontrol.v1beta2."
    return {
        f"{package}PriorityLevelConfigurationSpec": check_level,
        f"{package}LimitResponse": check_response,
        f"{package}QueuingConfiguration": check_queues,
    }


PRIORITY_LEVEL_CONFIGURATION = KindRecord(
    group="flowcontrol.apiserver.orch.io",
    kind="PriorityLevelConfiguration",
    generation=SPEC,
    status_ignores=("spec", "metadata"),
    validate=validate_priority_level,
    cells=cells_cluster.priority_level,
)
