"""Label selectors in any object."""

from __future__ import annotations

from collections.abc import Mapping

from orchtw.errors import Cause
from orchtw.naming.naming import Naming
from orchtw.rules.selectors import validate_selector_object
from orchtw.schema.validation.validators import Check
from orchtw.wire.objects import Object

_META = "orch.io.apimachinery.pkg.apis.meta.v1."


def check_label_selector(new: Object, old: Object | None) -> list[Cause]:
    """Validate keys and values, and the number of values of each operator (reference READ-24)."""
    return validate_selector_object(new, "")


def checks(naming: Naming) -> Mapping[str, Check]:
    """Return the checks by message name."""
    return {_META + "LabelSelector": check_label_selector}
