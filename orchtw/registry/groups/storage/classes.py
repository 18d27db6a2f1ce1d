"""Storage classes: the settings of new volumes."""

from __future__ import annotations

from typing import Final

from orchtw.errors import MAX_CAUSES, Cause
from orchtw.naming.naming import Naming
from orchtw.registry.groups.storage.sizes import MAX_BYTES, text_bytes
from orchtw.registry.kind import KindRecord
from orchtw.schema.tables import cells_cluster
from orchtw.values.causes import duplicate, forbidden, invalid, not_supported, required, too_long
from orchtw.values.names import qualified_name
from orchtw.wire.objects import Object

_MAX_PARAMETERS: Final = 512
_POLICIES: Final = ("Delete", "Retain")
_FIXED: Final = ("provisioner", "parameters", "reclaimPolicy")


def validate_storage_class(new: Object, old: Object | None, naming: Naming) -> list[Cause]:
    """Validate a StorageClass, whose provisioning is immutable."""
    causes = _provisioner_causes(new.get("provisioner", "")) + parameter_causes(new.get("parameters") or {})
    policy = new.get("reclaimPolicy")
    if policy and policy not in _POLICIES:
        causes.append(not_supported("reclaimPolicy", policy, _POLICIES))
    if old is not None:
        changed = [key for key in _FIXED if (new.get(key) or None) != (old.get(key) or None)]
        causes += [forbidden(key, f"updates to {key} are forbidden.") for key in changed]
    return causes + _topology_causes(new)


def _provisioner_causes(name: str) -> list[Cause]:
    if not name:
        return [required("provisioner")]
    return [invalid("provisioner", name, text) for text in qualified_name(name.lower())]


def parameter_causes(parameters: Object) -> list[Cause]:
    """Return the causes that reject the parameters of a class."""
    if len(parameters) > _MAX_PARAMETERS:
        return [too_long("parameters", _MAX_PARAMETERS)]
    causes = [invalid("parameters", "", "field can not be empty.")] if "" in parameters else []
    if text_bytes(parameters) > MAX_BYTES:
        causes.append(too_long("parameters", MAX_BYTES))
    return causes


def _topology_causes(new: Object) -> list[Cause]:
    """Return the causes for terms with the same requirements, in any order."""
    causes: list[Cause] = []
    seen: set[frozenset[tuple[str, frozenset[str]]]] = set()
    for index, term in enumerate(new.get("allowedTopologies") or ()):
        wanted = {
            each.get("key", ""): frozenset(each.get("values") or ())
            for each in term.get("matchLabelExpressions") or ()
        }
        key = frozenset(wanted.items())
        if key in seen and len(causes) <= MAX_CAUSES:
            causes.append(duplicate(f"allowedTopologies[{index}].matchLabelExpressions", ""))
        seen.add(key)
    return causes


STORAGE_CLASS = KindRecord(
    group="storage.orch.io",
    kind="StorageClass",
    validate=validate_storage_class,
    cells=cells_cluster.storage_class,
)
