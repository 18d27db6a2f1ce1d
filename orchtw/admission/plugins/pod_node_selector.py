"""PodNodeSelector: node selectors for the pods of a namespace (reference PLUG-17, PLUG-81)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec

from orchtw.admission.attributes import Attributes, Operation
from orchtw.admission.configuration import UNVERSIONED, Given
from orchtw.admission.host import AdmissionHost
from orchtw.errors import ConfigError, NotFound
from orchtw.registry.emission_order import put
from orchtw.registry.groups.core.pod_templates import POD_SPEC_TAIL
from orchtw.registry.listers.lister import Lister
from orchtw.registry.listers.namespace_annotations import namespace_annotations
from orchtw.schema.catalogue import ResourceType
from orchtw.values.names import label_value, qualified_name
from orchtw.wire.objects import Object

FIELD: Final = UNVERSIONED["PodNodeSelector"]
ANNOTATION: Final = "scheduler.alpha.orch.io/node-selector"
_DEFAULT: Final = "clusterDefaultNodeSelector"

Selector = Mapping[str, str]


class Selectors(msgspec.Struct, frozen=True, kw_only=True):
    """Configuration: the selector of namespaces without an annotation, and the allowed labels by namespace."""

    default: Selector = msgspec.field(default_factory=dict)
    allowed: Mapping[str, Selector] = msgspec.field(default_factory=dict)


class Annotated(msgspec.Struct, frozen=True):
    """Selector of a namespace's annotation (None: unset), or the error in it."""

    selector: Selector | None = None
    wrong: str = ""


class PodNodeSelector:
    """Plugin PodNodeSelector: merges the namespace's selector into those of its pods.

    The result may be limited to a list of allowed labels.
    """

    def __init__(self, selectors: Selectors, namespaces: Lister[Annotated]) -> None:
        self._selectors = selectors
        self._namespaces = namespaces

    @classmethod
    def of(cls, host: AdmissionHost, given: Given | None) -> PodNodeSelector:
        """Return the plugin, backed by the server's namespaces. Raises ConfigError."""
        annotation = host.naming.translate(ANNOTATION)
        namespaces = namespace_annotations(host.targets, lambda found: annotated(found.get(annotation)))
        return cls(read(given), namespaces)

    def handles(self, operation: Operation, resource: ResourceType, subresource: str) -> bool:
        """Handle creates of Pods."""
        return operation == "CREATE" and not subresource and resource.qualified == "pods"

    async def admit(self, attributes: Attributes) -> None:
        """Merge the namespace's selector into the pod's. Raises what `validate` raises."""
        pod: Object = attributes.obj or {}
        spec = pod.get("spec") or {}
        wanted, own = await self._selector(attributes), spec.get("nodeSelector") or {}
        self._check(attributes, wanted, own)
        both = {**wanted, **own}
        if both != own:
            spec = dict(spec)
            put(spec, "nodeSelector", dict(sorted(both.items())), POD_SPEC_TAIL)
            attributes.fill({**pod, "spec": spec})

    async def validate(self, attributes: Attributes) -> None:
        """Raise Forbidden (403) if a pod's selector conflicts with its namespace's, or has disallowed labels.

        Raises NotFound (404) for a missing namespace.
        """
        spec = (attributes.obj or {}).get("spec") or {}
        self._check(attributes, await self._selector(attributes), spec.get("nodeSelector") or {})

    def _check(self, attributes: Attributes, wanted: Selector, own: Selector) -> None:
        if any(own.get(key, value) != value for key, value in wanted.items()):
            raise attributes.forbidden("pod node label selector conflicts with its namespace node label selector")
        allowed = self._selectors.allowed.get(attributes.namespace)
        if allowed and not {**wanted, **own}.items() <= allowed.items():
            raise attributes.forbidden("pod node label selector labels conflict with its namespace whitelist")

    async def _selector(self, attributes: Attributes) -> Selector:
        found = await attributes.find(self._namespaces, "", attributes.namespace)
        if found is None:
            raise NotFound.of("namespaces", "", attributes.namespace)
        if found.wrong:
            raise attributes.forbidden(found.wrong)
        return self._selectors.default if found.selector is None else found.selector


def annotated(text: str | None) -> Annotated:
    """Parse an annotation; None means unset."""
    try:
        return Annotated() if text is None else Annotated(parse(text))
    except ValueError as error:
        return Annotated(wrong=str(error))


def read(given: Given | None) -> Selectors:
    """Return the configured selectors. Raises ConfigError for a missing or invalid configuration."""
    if given is None:
        raise ConfigError("PodNodeSelector: no config specified")
    file = given.fields()
    file.only(*UNVERSIONED.values())
    section = file.section(FIELD)
    found = {}
    for name in section.value:
        try:
            found[name] = parse(section.text(name))
        except ValueError as error:
            raise section.wrong(name, str(error)) from None
    default = found.pop(_DEFAULT, {})
    return Selectors(default=default, allowed=found)


def parse(text: str) -> Selector:
    """Parse a selector such as `a=b,c=d`. Raises ValueError with one line."""
    found = {}
    for part in text.split(",") if text else ():
        key, equals, value = part.partition("=")
        key, value = key.strip(), value.strip()
        if not equals or "=" in value:
            raise ValueError(f"invalid selector: [{part}]")
        for problem in (*qualified_name(key), *label_value(value)):
            raise ValueError(f"invalid selector: [{part}]: {problem}")
        found[key] = value
    return found
