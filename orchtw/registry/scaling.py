"""Scale sub-resource of a kind: its paths for reading and writing (reference KIND-25, CRD-23)."""

from __future__ import annotations

from typing import Any, Final, Protocol

from orchtw.errors import BadRequest, Cause, InternalError, Invalid
from orchtw.rules.selectors import selector_of_object
from orchtw.schema.catalogue import ScalePaths
from orchtw.schema.codec.mismatch import shortened
from orchtw.wire.objects import Object

LEAST_INT32: Final = -(1 << 31)
"""Replicas of an object that does not set them, as patches of its Scale see them."""

_MOST_INT32: Final = (1 << 31) - 1
_PLAIN_SELECTOR: Final = "ReplicationController"
"""Workload whose selector is a map of labels."""

_GO_TYPES: Final = {
    dict: "map[string]interface {}", list: "[]interface {}", str: "string", bool: "bool", float: "float64",
}  # fmt: skip


class ScaleMapping(Protocol):
    """Mapping between the objects of a kind in one version and their Scales."""

    def show(self, obj: Object) -> tuple[int, int, str]:
        """Return wanted replicas, present ones, and the selector of an object.

        Raises BadRequest (400) and InternalError (500) if its content makes no Scale.
        """

    def before(self, obj: Object) -> tuple[int, int, str]:
        """Return the same for a write, even if the object does not set its replicas."""

    def take(self, obj: Object, replicas: int) -> Object:
        """Return a copy of `obj` with so many wanted replicas."""

    def refuse(self, scale: Object) -> None:
        """Check a canonical Scale. Raises Invalid (422) and BadRequest (400) if it cannot be written."""


class WorkloadScale:
    """Scales of the release's kinds: `spec.replicas`, `status.replicas` and `spec.selector`."""

    def show(self, obj: Object) -> tuple[int, int, str]:
        """Return the contents of a Scale, as `ScaleMapping.show`; the methods below are those of `ScaleMapping`."""
        spec, status = obj["spec"], obj.get("status", {})
        selector = spec.get("selector")
        if selector is not None and obj["kind"] == _PLAIN_SELECTOR:
            selector = {"matchLabels": selector}
        text = str(selector_of_object(selector)) if selector else ""
        return spec.get("replicas", 0), status.get("replicas", 0), text

    before = show

    def take(self, obj: Object, replicas: int) -> Object:
        return {**obj, "spec": {**(obj.get("spec") or {}), "replicas": replicas}}

    def refuse(self, scale: Object) -> None:
        causes = []
        if not scale["metadata"].get("namespace"):
            causes.append(Cause("FieldValueRequired", "Required value", "metadata.namespace"))
        replicas = scale.get("spec", {}).get("replicas", 0)
        if replicas < 0:
            text = f"Invalid value: {replicas}: must be greater than or equal to 0"
            causes.append(Cause("FieldValueInvalid", text, "spec.replicas"))
        if causes:
            raise Invalid.of("Scale", "autoscaling", scale["metadata"].get("name", ""), causes)


WORKLOAD: Final = WorkloadScale()


class PathScale:
    """Scales of a custom kind in one version, by its definition's paths."""

    def __init__(self, paths: ScalePaths) -> None:
        self._paths = paths
        self._replicas = _keys(paths.replicas)
        self._status_replicas = _keys(paths.status_replicas)
        self._selector = _keys(paths.selector) if paths.selector else ()

    def show(self, obj: Object) -> tuple[int, int, str]:
        """Return the contents of a Scale, as `ScaleMapping.show`; the methods below are those of `ScaleMapping`."""
        replicas, present, selector = self.before(obj)
        if replicas == LEAST_INT32:
            raise InternalError.of(f'the spec replicas field "{self._paths.replicas}" does not exist')
        return replicas, present, selector

    def before(self, obj: Object) -> tuple[int, int, str]:
        try:
            replicas = _number(obj, self._replicas)
            present = _number(obj, self._status_replicas)
            selector = _found(obj, self._selector, str, "string") if self._selector else None
        except ValueError as error:
            raise InternalError.of(str(error)) from None
        return LEAST_INT32 if replicas is None else replicas, present or 0, selector or ""

    def take(self, obj: Object, replicas: int) -> Object:
        out = level = dict(obj)
        for key in self._replicas[:-1]:
            below = level.get(key)
            if below is not None and type(below) is not dict:
                raise InternalError.of(_accessor_error(self._replicas, below, "map[string]interface{}"))
            level[key] = level = dict(below or {})
        level[self._replicas[-1]] = replicas
        return out

    def refuse(self, scale: Object) -> None:
        if scale.get("spec", {}).get("replicas", 0) == LEAST_INT32:
            raise BadRequest(f'the spec replicas field "{self._paths.replicas}" cannot be empty')

    def causes(self, obj: Object, *, status_only: bool = False) -> list[Cause]:
        """Return the causes for invalid replicas or selector at the paths; `status_only`: all but the wanted
        replicas.
        """
        paths = self._paths
        found = [] if status_only else _number_causes(obj, paths.replicas, self._replicas)
        found += _number_causes(obj, paths.status_replicas, self._status_replicas)
        if self._selector:
            try:
                _found(obj, self._selector, str, "string")
            except ValueError as error:
                found.append(_cause(paths.selector, '""', str(error)))
        return found


def _keys(path: str) -> tuple[str, ...]:
    return tuple(path.removeprefix(".").split("."))


def _number_causes(obj: Object, path: str, keys: tuple[str, ...]) -> list[Cause]:
    try:
        number = _number(obj, keys) or 0
    except ValueError as error:
        return [_cause(path, "0", str(error))]
    if number < 0:
        return [_cause(path, str(number), "should be a non-negative integer")]
    if number > _MOST_INT32:
        return [_cause(path, str(number), f"should be less than or equal to {_MOST_INT32}")]
    return []


def _cause(path: str, value: str, why: str) -> Cause:
    return Cause("FieldValueInvalid", f"Invalid value: {value}: {why}", path)


def _number(obj: Object, keys: tuple[str, ...]) -> int | None:
    found: int | None = _found(obj, keys, int, "int64")
    return found


def _found(obj: Object, keys: tuple[str, ...], kind: type, name: str) -> Any:
    """Return the value under the keys, None if there is none. Raises ValueError for one of another type."""
    value: Any = obj
    for key in keys:
        if value is None:
            return None
        if type(value) is not dict:
            raise ValueError(_accessor_error(keys, value, "map[string]interface{}"))
        value = value.get(key)
    if value is not None and type(value) is not kind:
        raise ValueError(_accessor_error(keys, value, name))
    return value


def _accessor_error(keys: tuple[str, ...], value: Any, expected: str) -> str:
    found = _GO_TYPES.get(type(value), "int64")
    return f".{'.'.join(keys)} accessor error: {shortened(str(value))} is of the type {found}, expected {expected}"
