"""One quota, and whether a write fits into those of its namespace (reference PLUG-25, PLUG-28, PLUG-31)."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import attrs

from orchtw.objects import Object
from orchtw.quota.amounts import ZERO, Amounts, amounts, listed, only, shown, total
from orchtw.quota.scopes import Requirement, requirements_of
from orchtw.quota.scopes import shown as shown_scopes
from orchtw.quota.usage import Evaluator, Usage


class Refused(Exception):
    """Why a write does not fit."""


class Unknown(Refused):
    """Nobody has said yet what is used: it may be known soon."""


@attrs.frozen(slots=True, kw_only=True, eq=False)
class Quota:
    """What a ResourceQuota says: `hard` is what is limited as of its last count, in which `used` was found.

    One that has never been counted limits what its spec says, and nothing of it is known to be free.
    """

    name: str
    hard: Amounts
    used: Amounts
    scopes: tuple[Requirement, ...] = ()

    @classmethod
    def of(cls, obj: Object) -> Quota:
        """The quota of a canonical object."""
        spec, status = obj["spec"], obj.get("status") or {}
        counted = status.get("hard")
        return cls(
            name=obj["metadata"]["name"],
            hard=amounts(counted or spec.get("hard")),
            used=amounts(status.get("used")) if counted else {},
            scopes=requirements_of(spec),
        )

    def counts(self, evaluator: Evaluator, usage: Usage) -> list[str]:
        """What of it an object uses; nothing if that has not all of its scopes."""
        found = evaluator.counted(self.hard)
        return found if found and all(each.matches(usage.pod) for each in self.scopes) else []


@attrs.frozen(slots=True, kw_only=True)
class Limited:
    """What nobody may use without a quota for it: `contains` are parts of names, `scopes` those of pods."""

    group: str
    plural: str
    contains: tuple[str, ...] = ()
    scopes: tuple[Requirement, ...] = ()

    def names(self, used: Amounts) -> set[str]:
        """What of that which an object uses has to be limited by a quota."""
        return {
            name for name, each in used.items() if each.nanos > 0 and any(part in name for part in self.contains)
        }


@attrs.frozen(slots=True, kw_only=True, eq=False)
class Asked:
    """What a write asks for: the use of its object, and by how much that grows.

    `limited` are the rules for its resource. `missing` is what the object does not say.
    """

    evaluator: Evaluator
    usage: Usage
    grows: Amounts
    used: Amounts
    missing: Collection[str] = ()
    limited: Sequence[Limited] = ()


Charges = Mapping[str, Amounts]
"""By the names of quotas: what a write uses of each."""


def fit(quotas: Sequence[Quota], asked: Asked) -> Charges:
    """What a write uses of quotas. Raises Refused, with the text for the client."""
    covered: set[str] = set()
    concerned: list[Quota] = []
    for quota in quotas:
        names = quota.counts(asked.evaluator, asked.usage)
        if not names:
            continue
        if missing := set(asked.missing).intersection(names):
            raise Refused(f"failed quota: {quota.name}: must specify {listed(missing)}")
        if not quota.used.keys() >= set(names):
            raise Unknown(f"status unknown for quota: {quota.name}, resources: {listed(names)}")
        covered.update(names)
        concerned.append(quota)
    if negative := [name for name, each in asked.used.items() if each.nanos < 0]:
        raise Refused(f"quota usage is negative for resource(s): {listed(negative)}")
    if not asked.grows:
        return {}
    if asked.limited:
        _check_covered(quotas, asked, covered)
    return {quota.name: charge for quota in concerned if (charge := _charged(quota, asked.grows))}


def _check_covered(quotas: Sequence[Quota], asked: Asked, covered: set[str]) -> None:
    names = {name for limited in asked.limited for name in limited.names(asked.used)}
    if names - covered:
        raise Refused(f"insufficient quota to consume: {listed(names - covered)}")
    pod = asked.usage.pod
    scopes = [scope for limited in asked.limited for scope in limited.scopes if scope.matches(pod)]
    granted = {scope.scope for quota in quotas for scope in quota.scopes if scope.matches(pod)}
    if lacking := [scope for scope in scopes if scope.scope not in granted]:
        raise Refused(f"insufficient quota to match these scopes: {shown_scopes(lacking)}")


def _charged(quota: Quota, grows: Amounts) -> Amounts:
    """What of it is used more. Raises Refused when that is too much."""
    more = only(grows, quota.hard)
    after = total(quota.used, more)
    exceeded = [name for name in more if after[name].nanos > quota.hard[name].nanos]
    if exceeded:
        used = {name: quota.used.get(name, ZERO) for name in exceeded}
        raise Refused(
            f"exceeded quota: {quota.name}, requested: {shown(only(more, exceeded))}, used: {shown(used)}, "
            f"limited: {shown(only(quota.hard, exceeded))}"
        )
    return more
