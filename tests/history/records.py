"""Records and resources for tests, made without a server."""

from __future__ import annotations

from typing import Any

from orchtw.history.origin import WriteOrigin
from orchtw.history.resource import RecordedResource
from orchtw.history.ring import RecordedWrite
from orchtw.naming.naming import Naming
from orchtw.registry.targets import Targets
from orchtw.wire.objects import Object
from tests.end_to_end.case import surface

NAMING = Naming.kubernetes()


def targets() -> Targets:
    """The resources of a server of Kubernetes' vocabulary."""
    catalogue, codecs = surface("kubernetes")
    return Targets(catalogue, codecs, catalogue.resources)


TARGETS = targets()


def resource(plural: str, group: str = "", version: str = "v1") -> RecordedResource:
    """A resource of the release, as the record knows it."""
    return RecordedResource(TARGETS.stored(group, version, plural), NAMING)


CONFIG_MAPS = resource("configmaps")


def value_of(name: str, **members: Any) -> bytes:
    """A ConfigMap of namespace `a`, as it is stored."""
    stored = TARGETS.stored("", "v1", "configmaps")
    obj: Object = {"metadata": {"name": name, "namespace": "a", "uid": "u"}, **members}
    return stored.prepare(stored.codec.normalise(obj)).value


def record(
    revision: int,
    name: str = "x",
    value: bytes | None = b"value",
    previous: bytes | None = None,
    **members: Any,
) -> RecordedWrite:
    """A write of a ConfigMap of namespace `a`."""
    given: dict[str, Any] = {
        "time": 1000.0 + revision,
        "key": f"/registry/configmaps/a/{name}",
        "resource": CONFIG_MAPS,
        "previous_revision": revision - 1 if previous is not None else 0,
        "origin": WriteOrigin("jane"),
        **members,
    }
    return RecordedWrite(revision=revision, value=value, previous=previous, **given)
