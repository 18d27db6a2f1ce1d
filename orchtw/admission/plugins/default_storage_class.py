"""DefaultStorageClass: the default class for claims that name none (reference PLUG-20)."""

from __future__ import annotations

from typing import Final

from orchtw.admission.attributes import Attributes, Operation
from orchtw.admission.host import AdmissionHost
from orchtw.registry.annotated_defaults import AnnotatedDefaults
from orchtw.registry.emission_order import put
from orchtw.registry.groups.core.claim_validation import CLASS_ANNOTATION
from orchtw.schema.catalogue import ResourceType
from orchtw.wire.objects import Object

IS_DEFAULT: Final = ("storageclass.orch.io/is-default-class", "storageclass.beta.orch.io/is-default-class")
"""Annotations of the default class, current and older."""

_FROM_CLASS_ON: Final = ("storageClassName", "volumeMode", "dataSource", "dataSourceRef")


class DefaultStorageClass:
    """Plugin DefaultStorageClass; the older annotation counts as a class too, and so does an empty class."""

    def __init__(self, classes: AnnotatedDefaults, annotation: str) -> None:
        self._classes = classes
        self._annotation = annotation

    @classmethod
    def of(cls, host: AdmissionHost) -> DefaultStorageClass:
        """Return the plugin, backed by the server's classes."""
        group, translate = host.naming.group("storage.orch.io"), host.naming.translate
        classes = AnnotatedDefaults(host.targets, (group, "v1", "storageclasses"), *map(translate, IS_DEFAULT))
        return cls(classes, translate(CLASS_ANNOTATION))

    def handles(self, operation: Operation, resource: ResourceType, subresource: str) -> bool:
        """Handle creates of PersistentVolumeClaims."""
        return operation == "CREATE" and not subresource and resource.qualified == "persistentvolumeclaims"

    async def admit(self, attributes: Attributes) -> None:
        """Set the default class. Raises Forbidden (403) if there are several."""
        claim: Object = attributes.obj or {}
        spec, annotations = claim.get("spec") or {}, claim.get("metadata", {}).get("annotations") or {}
        if spec.get("storageClassName") is not None or self._annotation in annotations:
            return
        if (due := self._classes.due()) is not None:
            await attributes.until_known(due)
        names = self._classes.names()
        if len(names) > 1:
            raise attributes.forbidden(f"Internal error occurred: {len(names)} default StorageClasses were found")
        if names:
            spec = dict(spec)
            put(spec, "storageClassName", names[0], _FROM_CLASS_ON)
            attributes.fill({**claim, "spec": spec})
