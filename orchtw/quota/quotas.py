"""Quotas, and the check of a write against those of its namespace (reference PLUG-25, PLUG-28, PLUG-31)."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

import msgspec

from orchtw.quota.amounts import NOTHING, Amount, Amounts, amount, growth, listed, only, shown
from orchtw.quota.scopes import Requirement, requirements_of
from orchtw.quota.scopes import shown as shown_scopes
from orchtw.quota.usage import Evaluator, Usage
from orchtw.wire.objects import Object


class Refused(Exception):
    """Error for a write that does not fit a quota; the text is for the client."""


class Unknown(Refused):
    """Error for a write against a quota whose usage is not counted yet."""


class Quota(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """Limits and usage of a ResourceQuota: `hard` and `used` are those of its last count, in the status.

    A quota that was never counted has the `hard` of its spec, and its usage is unknown. Amounts stay unparsed: a
    quota may have very many entries, of which a write concerns few.
    """

    name: str
    hard: Mapping[str, str]
    used: Mapping[str, str]
    scopes: tuple[Requirement, ...] = ()

    @classmethod
    def of(cls, obj: Object) -> Quota:
        """Read a canonical ResourceQuota object."""
        spec, status = obj["spec"], obj.get("status") or {}
        counted = status.get("hard")
        return cls(
            name=obj["metadata"]["name"],
            hard=counted or spec.get("hard") or {},
            used=(status.get("used") or {}) if counted else {},
            scopes=requirements_of(spec),
        )


class Standing:
    """A quota during an evaluation, with its usage after the charges so far."""

    def __init__(self, quota: Quota) -> None:
        self.quota = quota
        self.changed: dict[str, Amount] = {}

    def used(self, name: str) -> Amount:
        """Return the used amount of an entry, with the charges so far."""
        found = self.changed.get(name)
        return amount(self.quota.used.get(name, "0")) if found is None else found

    def charge(self, charge: Amounts) -> None:
        """Add a charge to the usage."""
        for name, more in charge.items():
            self.changed[name] = self.used(name).plus(more)

    def concerned(self, asked: AskedUsage) -> list[str]:
        """Return the entries that a write concerns; empty unless its object matches all scopes."""
        hard = self.quota.hard
        found = [name for name in asked.evaluator.names.union(asked.used) if name in hard]
        return found if found and self.selects(asked.usage) else []

    def selects(self, usage: Usage) -> bool:
        """Report whether an object matches all scopes."""
        return all(each.matches(usage.traits) for each in self.quota.scopes)

    def growth(self, asked: AskedUsage) -> Amounts:
        """Return what a write adds: all that its object uses, if the quota did not count the one before."""
        counted = asked.before is not None and self.selects(asked.before)
        return asked.grows if counted else growth(asked.used, NOTHING)


class Limited(msgspec.Struct, frozen=True, kw_only=True):
    """A resource that may only be consumed under a quota (`limitedResources` of the plugin's configuration).

    It applies to amounts whose name contains one of `contains`, and to pods and claims that match one of `scopes`.
    """

    group: str
    plural: str
    contains: tuple[str, ...] = ()
    scopes: tuple[Requirement, ...] = ()

    def names(self, used: Amounts) -> set[str]:
        """Return the names of used amounts that a quota must limit."""
        return {
            name for name, each in used.items() if each.nanos > 0 and any(part in name for part in self.contains)
        }


class AskedUsage(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """Usage that a write asks for: `used` by its object, of which `grows` is the increase.

    `limited` are the rules for its resource. `missing` are entries that must be set if limited, and are not. `before`
    is the usage of the object that an update replaces.
    """

    evaluator: Evaluator
    usage: Usage
    grows: Amounts
    used: Amounts
    missing: Collection[str] = ()
    limited: Sequence[Limited] = ()
    before: Usage | None = None


Charges = Mapping[str, Amounts]
"""Charges of a write by name of quota."""


def fit(standings: Collection[Standing], asked: AskedUsage) -> Charges:
    """Return the charges of a write to the quotas of its namespace; they are not added to `standings`.

    Raises Refused, and Unknown for a quota that is not counted yet.
    """
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
    grown = [(each, more) for each in concerned if (more := each.growth(asked))]
    if not grown and (concerned or not asked.grows):
        return {}
    if asked.limited:
        _check_covered(standings, asked, covered)
    return {each.quota.name: charge for each, more in grown if (charge := _charged(each, more))}


def _check_covered(standings: Iterable[Standing], asked: AskedUsage, covered: set[str]) -> None:
    names = {name for limited in asked.limited for name in limited.names(asked.used)}
    if names - covered:
        raise Refused(f"insufficient quota to consume: {listed(names - covered)}")
    traits = asked.usage.traits
    scopes = [scope for limited in asked.limited for scope in limited.scopes if scope.matches(traits)]
    granted = {scope.scope for each in standings for scope in each.quota.scopes if scope.matches(traits)}
    if lacking := [scope for scope in scopes if scope.scope not in granted]:
        raise Refused(f"insufficient quota to match these scopes: {shown_scopes(lacking)}")


def _charged(standing: Standing, grows: Amounts) -> Amounts:
    """Return the growth that a quota counts. Raises Refused if it exceeds the quota."""
    quota = standing.quota
    more = {name: each for name, each in grows.items() if name in quota.hard}
    hard = {name: amount(quota.hard[name]) for name in more}
    used = {name: standing.used(name) for name in more}
    exceeded = [name for name in more if used[name].nanos + more[name].nanos > hard[name].nanos]
    if exceeded:
        requested, before, limited = (shown(only(each, exceeded)) for each in (more, used, hard))
        raise Refused(f"exceeded quota: {quota.name}, requested: {requested}, used: {before}, limited: {limited}")
    return more
