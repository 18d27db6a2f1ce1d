"""Classes of attributes that volumes can change while they are in use (reference KIND-93)."""

from __future__ import annotations

from orchtw.errors import Cause
from orchtw.naming.naming import Naming
from orchtw.registry.groups.storage.classes import parameter_causes
from orchtw.registry.kind import KindRecord
from orchtw.schema.tables import cells_cluster
from orchtw.schema.validation.problems import IMMUTABLE
from orchtw.values.causes import invalid, required
from orchtw.values.names import qualified_name
from orchtw.wire.objects import Object


def validate_attributes_class(new: Object, old: Object | None, naming: Naming) -> list[Cause]:
    """Validate driver and parameters, which stay."""
    driver, parameters = new.get("driverName", ""), new.get("parameters") or {}
    causes = [invalid("driverName", driver, text) for text in qualified_name(driver.lower())] if driver else []
    if not parameters:
        causes.append(required("parameters", "must contain at least one key/value pair"))
    causes += parameter_causes(parameters)
    if old is not None:
        if driver != old.get("driverName", ""):
            causes.append(invalid("driverName", driver, IMMUTABLE))
        if parameters != (old.get("parameters") or {}):
            causes.append(invalid("parameters", parameters, IMMUTABLE))
    return causes


VOLUME_ATTRIBUTES_CLASS = KindRecord(
    group="storage.orch.io",
    kind="VolumeAttributesClass",
    validate=validate_attributes_class,
    cells=cells_cluster.attributes_class,
)
