"""Claims: requests for storage, and their few allowed changes (reference KIND-74)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from orchtw.errors import MAX_CAUSES, Cause
from orchtw.naming.naming import Naming
from orchtw.registry.groups.core.access_modes import check_access_modes
from orchtw.schema.validation.problems import IMMUTABLE, at
from orchtw.schema.validation.validators import Check
from orchtw.values.causes import forbidden, invalid, required
from orchtw.values.names import dns_label, dns_subdomain
from orchtw.values.quantity import Quantity, quantity
from orchtw.wire.objects import Object

_CORE = "orch.io.api.core.v1."
CLASS_ANNOTATION: Final = "volume.beta.orch.io/storage-class"
_CLAIM: Final = "PersistentVolumeClaim"
_SOURCES: Final = ("dataSource", "dataSourceRef")
_SETTLED: Final = "spec is immutable after creation except resources.requests for bound claims"
_SETTLED_NOW: Final = (
    "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims"
)
_CLASS: Final = "volumeAttributesClassName"
_NOTHING: Final = Quantity(0, 0, "decimal")


def check_claim_spec(spec: Object, old: Object | None) -> list[Cause]:
    """Validate a claim's spec, in a claim or in the template of an ephemeral volume."""
    causes = check_access_modes(spec.get("accessModes") or (), "at least 1 access mode is required")
    storage = (spec.get("resources") or {}).get("requests", {}).get("storage")
    if storage is None:
        causes.append(required("resources[storage]"))
    elif quantity(storage).mantissa <= 0:
        causes.append(invalid("resources[storage]", storage, "must be greater than zero"))
    if storage_class := spec.get("storageClassName"):
        causes += [invalid("storageClassName", storage_class, text) for text in dns_subdomain(storage_class)]
    if attributes := spec.get(_CLASS):
        causes += [invalid(_CLASS, attributes, text) for text in dns_subdomain(attributes)]
    return causes + _check_sources(spec)


def _check_sources(spec: Object) -> list[Cause]:
    causes = []
    found = {field: spec[field] for field in _SOURCES if spec.get(field) is not None}
    for field, source in found.items():
        kind = source.get("kind", "")
        causes += [required(f"{field}.{part}") for part in ("name", "kind") if not source.get(part)]
        if not source.get("apiGroup") and kind != _CLAIM:
            text = "must be 'PersistentVolumeClaim' when referencing the default apiGroup"
            causes.append(invalid(field, kind, text))
    return causes + _check_reference(found.get("dataSource"), found.get("dataSourceRef") or {})


def _check_reference(source: Object | None, reference: Object) -> list[Cause]:
    """Validate dataSourceRef beside dataSource, which cannot name an object of another namespace."""
    namespace, field = reference.get("namespace"), "dataSourceRef.namespace"
    if namespace:
        causes = [invalid(field, namespace, text) for text in dns_label(namespace)]
        if source is not None:
            text = "may not be specified when dataSourceRef.namespace is specified"
            causes.append(invalid("", "spec.dataSource", text))
        return causes
    if source is not None and reference and _plain(source) != _plain(reference):
        return [invalid("", "spec.dataSource", "must match dataSourceRef")]
    return []


def _plain(source: Object) -> tuple[Any, ...]:
    return source.get("apiGroup"), source.get("kind", ""), source.get("name", "")


def validate_claim(new: Object, old: Object | None, naming: Naming) -> list[Cause]:
    """Validate a claim; an update may change little."""
    return [] if old is None else _check_change(new, old, naming)


def validate_claim_status(new: Object, old: Object, naming: Naming) -> list[Cause]:
    """Validate that access modes remain and amounts are not negative."""
    causes = [] if new["spec"].get("accessModes") else [required("Spec.accessModes")]
    for name, text in ((new.get("status") or {}).get("capacity") or {}).items():
        if quantity(text).mantissa < 0:
            causes.append(invalid(f"status.capacity{at(name)}", text, "must be a valid resource quantity"))
        if len(causes) > MAX_CAUSES:
            break
    return causes


def changed_claim_causes(new: Object, old: Object, naming: Naming) -> list[Cause]:
    """Return the causes against a change of a claim that may have a class of attributes (reference KIND-93)."""
    return _check_change(new, old, naming, classes=True)


def _check_change(new: Object, old: Object, naming: Naming, *, classes: bool = False) -> list[Cause]:
    causes = []
    spec, before = dict(new["spec"]), dict(old["spec"])
    annotation = naming.translate(CLASS_ANNOTATION)
    given, had = ((each["metadata"].get("annotations") or {}).get(annotation) for each in (new, old))
    if (
        had is not None
        and before.get("storageClassName") is None
        and spec.get("storageClassName") == had == (given or had)
    ):
        del spec["storageClassName"]  # it moves from the annotation to its field
    elif (given or "") != (had or ""):
        causes.append(invalid(f"metadata.annotations.{annotation}", given or "", IMMUTABLE))
    if not before.get("volumeName"):
        before.pop("volumeName", None)
        spec.pop("volumeName", None)
    size, size_before = _storage(spec), _storage(before)
    wanted, named = spec.get(_CLASS), before.get(_CLASS)
    if (new.get("status") or {}).get("phase") == "Bound":
        spec, before = _without_storage(spec), _without_storage(before)
        if classes and wanted is not None:
            spec[_CLASS] = before[_CLASS] = wanted
    if spec != before:
        # Claims without a class are told what release 1.24 tells.
        causes.append(forbidden("spec", _SETTLED_NOW if wanted or named else _SETTLED))
    if classes and wanted is None and named is not None:
        causes.append(forbidden(f"spec.{_CLASS}", "update from non-nil value to nil is forbidden"))
    if size.compare(size_before) < 0:
        causes.append(forbidden("spec.resources.requests.storage", "field can not be less than previous value"))
    if spec.get("volumeMode") != before.get("volumeMode"):
        causes.append(invalid("volumeMode", spec.get("volumeMode"), IMMUTABLE))
    return causes


def _storage(spec: Object) -> Quantity:
    text = (spec.get("resources") or {}).get("requests", {}).get("storage")
    return _NOTHING if text is None else quantity(text)


def _without_storage(spec: Object) -> Object:
    resources = dict(spec.get("resources") or {})
    resources["requests"] = {
        name: amount for name, amount in (resources.get("requests") or {}).items() if name != "storage"
    }
    return {**spec, "resources": resources}


def checks(naming: Naming) -> Mapping[str, Check]:
    """Return the checks by message name."""
    return {_CORE + "PersistentVolumeClaimSpec": check_claim_spec}
