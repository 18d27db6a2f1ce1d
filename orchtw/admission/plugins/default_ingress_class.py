"""DefaultIngressClass: the default class for Ingresses that name none (reference PLUG-21)."""

from __future__ import annotations

from orchtw.admission.attributes import Attributes, Operation
from orchtw.admission.host import AdmissionHost
from orchtw.registry.annotated_defaults import AnnotatedDefaults
from orchtw.registry.groups.networking.ingresses import CLASS_ANNOTATION
from orchtw.schema.catalogue import ResourceType
from orchtw.wire.objects import Object

IS_DEFAULT = "ingressclass.orch.io/is-default-class"
"""Annotation of the default class."""


class DefaultIngressClass:
    """Plugin DefaultIngressClass; the older annotation counts as a class too."""

    def __init__(self, classes: AnnotatedDefaults, ingresses: str, annotation: str) -> None:
        self._classes = classes
        self._ingresses = ingresses
        self._annotation = annotation

    @classmethod
    def of(cls, host: AdmissionHost) -> DefaultIngressClass:
        """Return the plugin, backed by the server's classes."""
        group, translate = host.naming.group("networking.orch.io"), host.naming.translate
        classes = AnnotatedDefaults(host.targets, (group, "v1", "ingressclasses"), translate(IS_DEFAULT))
        return cls(classes, f"ingresses.{group}", translate(CLASS_ANNOTATION))

    def handles(self, operation: Operation, resource: ResourceType, subresource: str) -> bool:
        """Handle creates of Ingresses."""
        return operation == "CREATE" and not subresource and resource.qualified == self._ingresses

    async def admit(self, attributes: Attributes) -> None:
        """Set the default class. Raises Forbidden (403) if there are several."""
        ingress: Object = attributes.obj or {}
        spec, annotations = ingress.get("spec") or {}, ingress.get("metadata", {}).get("annotations") or {}
        if spec.get("ingressClassName") is not None or self._annotation in annotations:
            return
        if (due := self._classes.due()) is not None:
            await attributes.until_known(due)
        names = self._classes.names()
        if len(names) > 1:
            found = f"{len(names)} default IngressClasses were found"
            raise attributes.forbidden(f"Internal error occurred: {found}, only 1 allowed")
        if names:
            attributes.fill({**ingress, "spec": {"ingressClassName": names[0], **spec}})
