"""Lists of resources: names and amounts in quotas, nodes and other objects."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from orchtw.errors import MAX_CAUSES, Cause
from orchtw.naming.naming import Naming
from orchtw.rules.resource_names import is_counted
from orchtw.schema.validation.problems import at
from orchtw.values.causes import NOT_NEGATIVE, invalid
from orchtw.values.quantity import quantity

NOT_WHOLE = "must be an integer"


def check_amount(path: str, name: str, text: str, naming: Naming) -> list[Cause]:
    """Validate that an amount is not negative, and whole if its resource has no fractions."""
    amount = quantity(text)
    causes = [invalid(path, text, NOT_NEGATIVE)] if amount.mantissa < 0 else []
    if is_counted(name, naming) and not amount.whole:
        causes.append(invalid(path, text, NOT_WHOLE))
    return causes


def check_amounts(
    path: str, amounts: Mapping[str, str], naming: Naming, name_form: Callable[[str], tuple[str, ...]] | None = None
) -> list[Cause]:
    """Validate all amounts of a list; the names have `name_form`."""
    causes: list[Cause] = []
    for name, text in amounts.items():
        place = path + at(name)
        if name_form is not None:
            causes += [invalid(place, name, wrong) for wrong in name_form(name)]
        causes += check_amount(place, name, text, naming)
        if len(causes) > MAX_CAUSES:
            break
    return causes
