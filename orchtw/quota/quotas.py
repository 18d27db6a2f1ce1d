"""One quota, and whether a write fits into those of its namespace (reference PLUG-25, PLUG-28, PLUG-31)."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

import attrs

from orchtw.quota.amounts import Amount, Amounts, amount, listed, only, shown
from orchtw.quota.scopes import Requirement, requirements_of
from orchtw.quota.scopes import shown as shown_scopes
from orchtw.quota.usage import Evaluator, Usage
from orchtw.wire.objects import Object


class Refused(Exception):
    """Why a write does not fit."""


class Unknown(Refused):
    """Nobody has said yet what is used: it may be known soon."""


@attrs.frozen(slots=True, kw_only=True, eq=False)
class Quota:
    """Limits and usage of a ResourceQuota: `hard` as of its last count, in which `used` was found.

    One that has never been counted limits what its spec says, and nothing of it is known to be free. Amounts are
    texts: a quota may limit very much, of which a write concerns little.
    """

    name: str
    hard: Mapping[str, str]
    used: Mapping[str, str]
    scopes: tuple[Requirement, ...] = ()

    @classmethod
    def of(cls, obj: Object) -> Quota:
        """The quota of a canonical object."""
        spec, status = obj["spec"], obj.get("status") or {}
        counted = status.get("hard")
        return cls(
            name=obj["metadata"]["name"],
            hard=counted or spec.get("hard") or {},
            used=(status.get("used") or {}) if counted else {},
            scopes=requirements_of(spec),
        )


class Standing:
    """A quota in the middle of an evaluation: what of it is used after the charges so far."""

    def __init__(self, quota: Quota) -> None:
        self.quota = quota
        self.changed: dict[str, Amount] = {}

    def used(self, name: str) -> Amount:
        """Return the used amount of an entry."""
        found = self.changed.get(name)
        return amount(self.quota.used.get(name, "0")) if found is None else found

    def charge(self, charge: Amounts) -> None:
        """More is used from now on."""
        for name, more in charge.items():
            self.changed[name] = self.used(name).plus(more)

    def concerned(self, asked: AskedUsage) -> list[str]:
        """Which of its entries a write concerns; none if its object has not all of the scopes."""
        hard = self.quota.hard
        found = [name for name in asked.evaluator.names.union(asked.used) if name in hard]
        return found if found and all(each.matches(asked.usage.pod) for each in self.quota.scopes) else []


@attrs.frozen(slots=True, kw_only=True)
class Limited:
    """Resources that may only be used under a quota: `contains` are parts of names, `scopes` those of pods."""

    group: str
    plural: str
    contains: tuple[str, ...] = ()
    scopes: tuple[Requirement, ...] = ()

    def names(self, used: Amounts) -> set[str]:
        """Return the names of used amounts that must be limited by a quota."""
        return {
            name for name, each in used.items() if each.nanos > 0 and any(part in name for part in self.contains)
        }


@attrs.frozen(slots=True, kw_only=True, eq=False)
class AskedUsage:
    """Usage that a write asks for: that of its object, and by how much it grows.

    `limited` are the rules for its resource. `missing` are the amounts that the object leaves out.
    """

    evaluator: Evaluator
    usage: Usage
    grows: Amounts
    used: Amounts
    missing: Collection[str] = ()
    limited: Sequence[Limited] = ()


Charges = Mapping[str, Amounts]
"""By the names of quotas: what a write uses of each."""


def fit(standings: Iterable[Standing], asked: AskedUsage) -> Charges:
    """Charge a write to its quotas. Raises Refused, with the text for the client."""
    covered: set[str] = set()
    concerned: list[Standing] = []
    for standing in standings:
        names, quota = standing.concerned(asked), standing.quota
        if not names:
            continue
        if missing := set(asked.missing).intersection(names):
            raise Refused(f"failed quota: {quota.name}: must specify {listed(missing)}")
        if not all(name in quota.used for name in names):
            raise Unknown(f"status unknown for quota: {quota.name}, resources: {listed(names)}")
        covered.update(names)
        concerned.append(standing)
    if negative := [name for name, each in asked.used.items() if each.nanos < 0]:
        raise Refused(f"quota usage is negative for resource(s): {listed(negative)}")
    if not asked.grows:
        return {}
    if asked.limited:
        _check_covered(standings, asked, covered)
    return {each.quota.name: charge for each in concerned if (charge := _charged(each, asked.grows))}


def _check_covered(standings: Iterable[Standing], asked: AskedUsage, covered: set[str]) -> None:
    names = {name for limited in asked.limited for name in limited.names(asked.used)}
    if names - covered:
        raise Refused(f"insufficient quota to consume: {listed(names - covered)}")
    pod = asked.usage.pod
    scopes = [scope for limited in asked.limited for scope in limited.scopes if scope.matches(pod)]
    granted = {scope.scope for each in standings for scope in each.quota.scopes if scope.matches(pod)}
    if lacking := [scope for scope in scopes if scope.scope not in granted]:
        raise Refused(f"insufficient quota to match these scopes: {shown_scopes(lacking)}")


def _charged(standing: Standing, grows: Amounts) -> Amounts:
    """Return the growth that a quota counts. Raises Refused when that is too much."""
    quota = standing.quota
    more = {name: each for name, each in grows.items() if name in quota.hard}
    hard = {name: amount(quota.hard[name]) for name in more}
    used = {name: standing.used(name) for name in more}
    exceeded = [name for name in more if used[name].nanos + more[name].nanos > hard[name].nanos]
    if exceeded:
        requested, before, limited = (shown(only(each, exceeded)) for each in (more, used, hard))
        raise Refused(f"exceeded quota: {quota.name}, requested: {requested}, used: {before}, limited: {limited}")
    return more
