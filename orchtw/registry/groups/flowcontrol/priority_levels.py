"""Priority levels: limits, and the handling of excess requests (reference FLOW-2, FLOW-4)."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import count
from math import log2
from typing import Final

from orchtw.errors import Cause
from orchtw.naming.naming import Naming
from orchtw.registry.groups.flowcontrol.mandatory import EXEMPT, PRIORITY_LEVELS, fixed_causes
from orchtw.registry.kind import KindRecord
from orchtw.registry.traits import SPEC, Sent
from orchtw.schema.conversion.flowcontrol import LEVEL_CONVERSIONS, OLD_SHARES, PRESERVE_ZERO, SHARES
from orchtw.schema.tables import cells_cluster
from orchtw.schema.validation.validators import Check
from orchtw.values.causes import forbidden, invalid, required
from orchtw.wire.objects import Object

_MAX_QUEUES: Final = 10_000_000
_MAX_ENTROPY_BITS: Final = 60
_POSITIVE: Final = "must be positive"
_PRESERVE_ZERO: Final = PRESERVE_ZERO.partition("/")[2]
DEFAULT_SHARES: Final = 30


def validate_priority_level(new: Object, old: Object | None, naming: Naming) -> list[Cause]:
    """Validate that `exempt` is the one level without limits."""
    name, kind = new["metadata"].get("name", ""), new["spec"].get("type", "")
    causes = []
    if (name == EXEMPT) is not (kind == "Exempt"):
        causes.append(invalid("spec.type", kind, "type must be 'Exempt' if and only if name is 'exempt'"))
    return causes + fixed_causes(new, PRIORITY_LEVELS)


def set_level_defaults(level: Object) -> None:
    """Fill in the shares of v1beta3, where 0 is absent unless the annotation says otherwise."""
    limited = (level.get("spec") or {}).get("limited")
    if limited is None or not level["apiVersion"].endswith("/v1beta3") or limited.get(SHARES):
        return
    annotations = level["metadata"].get("annotations") or {}
    if not any(key.endswith(_PRESERVE_ZERO) for key in annotations):
        limited[SHARES] = DEFAULT_SHARES


def validate_sent_level(new: Object, old: Object | None, sent: Sent, naming: Naming) -> list[Cause]:
    """Validate the shares under their name in the version of the request: they may be 0 where v1 can say so."""
    limited = (sent.obj.get("spec") or {}).get("limited")
    if sent.subresource or limited is None:
        return []
    if sent.resource.version in ("v1beta1", "v1beta2"):
        shares, least, text = limited.get(OLD_SHARES, 0), 1, _POSITIVE
    else:
        shares, least, text = limited.get(SHARES, 0), 0, "must be a non-negative integer"
    if shares >= least:
        return []
    name = OLD_SHARES if least else SHARES
    return [invalid(f"spec.limited.{name}", shares, text)]


def check_level(new: Object, old: Object | None) -> list[Cause]:
    """Validate that a level has limits if, and only if, it is limited."""
    kind, limits = new.get("type"), new.get("limited")
    if kind == "Limited" and new.get("exempt") is not None:
        return [forbidden("exempt", "must be nil if the type is Limited")]
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
    set_defaults=set_level_defaults,
    validate=validate_priority_level,
    validate_sent=validate_sent_level,
    conversions=LEVEL_CONVERSIONS,
    cells=cells_cluster.priority_level,
)
