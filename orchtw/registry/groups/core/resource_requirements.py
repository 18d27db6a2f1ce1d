"""Requests and limits of containers (reference KIND-43)."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Final

from orchtw.errors import MAX_CAUSES, Cause
from orchtw.naming.naming import Naming
from orchtw.registry.groups.core.resource_lists import check_amounts
from orchtw.rules.resource_names import container_resource_name, is_huge_pages, may_overcommit
from orchtw.schema.validation.problems import at, within
from orchtw.values.causes import forbidden, invalid, required
from orchtw.values.quantity import Quantity, quantity
from orchtw.wire.objects import Object

_COMPUTE: Final = frozenset(("cpu", "memory"))
_PLAIN: Final = frozenset(("cpu", "memory", "ephemeral-storage"))
_NO_AMOUNTS: Final[Mapping[str, str]] = {}


def resource_causes(resources: Object, naming: Naming) -> list[Cause]:
    """Return the causes that reject a container's resources, but for fractions of huge pages."""
    limits = resources.get("limits") or _NO_AMOUNTS
    requests = resources.get("requests") or _NO_AMOUNTS
    if are_plain(resources) and not _exceeds_limits(limits, requests):
        return []
    causes: list[Cause] = []
    for key, amounts in (("limits", limits), ("requests", requests)):
        causes += check_amounts(key, amounts, naming, lambda name: container_resource_name(name, naming))
    causes += _overcommitted(limits, requests, naming)
    names = {*limits, *requests}
    if not names & _COMPUTE and any(map(is_huge_pages, names)):
        causes.append(forbidden("", "HugePages require cpu or memory"))
    return within("resources", causes)


def are_plain(resources: Object) -> bool:
    """Report whether only usual resources are limited and requested, in amounts that are not negative."""
    for key in ("limits", "requests"):
        for name, amount in (resources.get(key) or _NO_AMOUNTS).items():
            if name not in _PLAIN or amount[:1] == "-":
                return False
    return True


def _exceeds_limits(limits: Mapping[str, str], requests: Mapping[str, str]) -> bool:
    for name, amount in requests.items():
        limit = limits.get(name, amount)
        if limit != amount and _is_more(amount, limit):
            return True
    return False


@lru_cache(maxsize=4096)  # of clusters' few pairs of amounts
def _is_more(amount: str, limit: str) -> bool:
    return quantity(amount).compare(quantity(limit)) > 0


def _overcommitted(limits: Mapping[str, str], requests: Mapping[str, str], naming: Naming) -> list[Cause]:
    """Return the causes for requests beyond their limits; extended resources and huge pages must equal them."""
    causes: list[Cause] = []
    for name, amount in requests.items():
        if len(causes) > MAX_CAUSES:
            break
        free, limit = may_overcommit(name, naming), limits.get(name)
        if limit is None:
            if not free:
                causes.append(required("limits", "Limit must be set for non overcommitable resources"))
            continue
        beyond = quantity(amount).compare(quantity(limit))
        if beyond and not free:
            causes.append(invalid("requests", amount, f"must be equal to {name} limit"))
        elif beyond > 0:
            causes.append(invalid("requests", amount, f"must be less than or equal to {name} limit"))
    return causes


def huge_page_causes(resources: Object) -> list[Cause]:
    """Return the causes for amounts of huge pages that are not a whole number of pages."""
    causes: list[Cause] = []
    for key in ("limits", "requests"):
        amounts = resources.get(key) or _NO_AMOUNTS
        if _PLAIN.issuperset(amounts):
            continue
        for name, amount in amounts.items():
            if is_huge_pages(name) and not _are_whole_pages(name, amount):
                text = f"{amount} is not positive integer multiple of {name}"
                causes.append(invalid(f"resources.{key}{at(name)}", amount, text))
                if len(causes) > MAX_CAUSES:
                    return causes
    return causes


def _are_whole_pages(name: str, amount: str) -> bool:
    try:
        page = Quantity.parse(name.partition("-")[2])
    except ValueError:
        return False
    return page.mantissa > 0 and page.whole and _divides(page, quantity(amount))


def _divides(page: Quantity, amount: Quantity) -> bool:
    """Report whether `amount`, in whole bytes, is a multiple of `page`; cheap for any exponents."""
    if not amount.mantissa or page.compare(amount) > 0:
        return not amount.mantissa
    size, power = _whole_bytes(page)
    number, exponent = _whole_bytes(amount)
    if exponent < power:  # no further than the number has digits, for it is not less than a page
        return bool(number % (size * 10 ** (power - exponent)) == 0)
    rest: int = number * pow(10, exponent - power, size) % size
    return rest == 0


def _whole_bytes(amount: Quantity) -> tuple[int, int]:
    """Return mantissa and exponent of the amount rounded up to whole bytes."""
    if amount.exponent >= 0:
        return amount.mantissa, amount.exponent
    return -(-amount.mantissa // 10**-amount.exponent), 0
