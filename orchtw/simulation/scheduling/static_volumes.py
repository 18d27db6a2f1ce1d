"""Choice of present volumes for claims that wait for their first pod (reference SIM-66)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import attrs

from orchtw.quota.amounts import ZERO, amounts
from orchtw.rules.selectors import LabelSelector, selector_of_object
from orchtw.simulation.scheduling.node_info import NodeInfo
from orchtw.simulation.scheduling.terms import NodeTerm
from orchtw.wire.objects import Object


@attrs.frozen(slots=True)
class Choice:
    """Claims with the present volumes chosen for them, and claims for which volumes are to be made."""

    present: tuple[tuple[Object, Object], ...]
    made: tuple[Object, ...]


class StaticVolumes:
    """Volumes of the classes of some claims."""

    def __init__(self, claims: Sequence[Object], of_class: Callable[[str], Sequence[Object]]) -> None:
        self._claims = sorted(claims, key=size_of)
        self._candidates = [
            matching(claim, of_class(claim["spec"].get("storageClassName") or "")) for claim in self._claims
        ]

    def choose(self, node: NodeInfo, can_make: Callable[[Object], bool]) -> Choice | None:
        """Return a volume for each claim on a node, the smallest that will do; None if one claim gets none."""
        taken: set[str] = set()
        present, made = [], []
        for claim, candidates in zip(self._claims, self._candidates, strict=True):
            free = (each for each in candidates if each["metadata"]["name"] not in taken)
            volume = next((each for each in free if fits_volume(each, node)), None)
            if volume is not None:
                taken.add(volume["metadata"]["name"])
                present.append((claim, volume))
            elif can_make(claim):
                made.append(claim)
            else:
                return None
        return Choice(tuple(present), tuple(made))


def matching(claim: Object, volumes: Sequence[Object]) -> list[Object]:
    """Return the volumes that a claim could have anywhere, the smallest first."""
    chosen = claim["spec"].get("selector")
    selector = LabelSelector() if chosen is None else selector_of_object(chosen)
    return sorted((each for each in volumes if _suits(claim, each, selector)), key=capacity_of)


def _suits(claim: Object, volume: Object, selector: LabelSelector) -> bool:
    spec, wanted, meta = volume["spec"], claim["spec"], claim["metadata"]
    holder = spec.get("claimRef")
    if holder is not None:
        # A volume that names the claim beforehand is as good as bound to it.
        names = holder.get("namespace"), holder.get("name")
        return names == (meta["namespace"], meta["name"]) and holder.get("uid") in (None, "", meta["uid"])
    if volume["metadata"].get("deletionTimestamp") or (volume.get("status") or {}).get("phase") != "Available":
        return False
    if not selector.matches(volume["metadata"].get("labels")) or capacity_of(volume) < size_of(claim):
        return False
    if (spec.get("volumeMode") or "Filesystem") != (wanted.get("volumeMode") or "Filesystem"):
        return False
    return set(wanted.get("accessModes") or ()) <= set(spec.get("accessModes") or ())


def fits_volume(volume: Object, node: NodeInfo) -> bool:
    """Report whether a volume can be reached from a node."""
    required = (volume["spec"].get("nodeAffinity") or {}).get("required")
    terms = () if required is None else required.get("nodeSelectorTerms") or ()
    return required is None or any(NodeTerm.of(each).matches(node.name, node.labels) for each in terms)


def size_of(claim: Object) -> int:
    """Return the size that a claim requests, in billionths of a byte."""
    return amounts((claim["spec"].get("resources") or {}).get("requests")).get("storage", ZERO).nanos


def capacity_of(volume: Object) -> int:
    """Return the size of a volume, or of what a claim has, in billionths of a byte."""
    return amounts(volume["spec"].get("capacity")).get("storage", ZERO).nanos
