"""PodTolerationRestriction: default and allowed tolerations by namespace (reference PLUG-18, PLUG-80, PLUG-82)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from orchtw.admission.attributes import Attributes, Operation
from orchtw.admission.configuration import Given
from orchtw.admission.configured_kinds import check_kind
from orchtw.admission.host import AdmissionHost
from orchtw.errors import NotFound
from orchtw.registry.emission_order import put
from orchtw.registry.groups.core.pod_templates import POD_SPEC_TAIL
from orchtw.registry.groups.core.pods import qos_class
from orchtw.registry.groups.core.scheduling_terms import check_toleration
from orchtw.registry.listers.lister import Lister
from orchtw.registry.listers.namespace_annotations import namespace_annotations
from orchtw.rules.tolerations import MOST, Cover, merged
from orchtw.schema.catalogue import ResourceType
from orchtw.wire.json_values import loads
from orchtw.wire.objects import Object

KIND: Final = "Configuration"
API_VERSION: Final = "podtolerationrestriction.admission.orch.io/v1alpha1"
DEFAULTS: Final = "scheduler.alpha.orch.io/defaultTolerations"
WHITELIST: Final = "scheduler.alpha.orch.io/tolerationsWhitelist"
PRESSURE: Final = "node.orch.io/memory-pressure"

_TEXTS: Final = ("key", "operator", "value", "effect")
_SECONDS: Final = "tolerationSeconds"

Tolerations = Sequence[Object]


class Restriction(msgspec.Struct, frozen=True, kw_only=True):
    """Default and allowed tolerations; None: those of the configuration apply. An empty `allowed` allows all.

    `wrong` is the error in a namespace's annotations, or empty.
    """

    default: Tolerations | None = None
    allowed: Tolerations | None = None
    wrong: str = ""


class PodTolerationRestriction:
    """Plugin PodTolerationRestriction; each of a namespace's two lists takes precedence over the configured one."""

    def __init__(self, cluster: Restriction, namespaces: Lister[Restriction], pressure: str) -> None:
        self._cluster = cluster
        self._namespaces = namespaces
        self._pressure: Object = {"key": pressure, "operator": "Exists", "effect": "NoSchedule"}

    @classmethod
    def of(cls, host: AdmissionHost, given: Given | None) -> PodTolerationRestriction:
        """Return the plugin, backed by the server's namespaces. Raises ConfigError."""
        translate = host.naming.translate
        names = translate(DEFAULTS), translate(WHITELIST)
        namespaces = namespace_annotations(host.targets, lambda found: annotated(found, *names))
        return cls(read(given), namespaces, translate(PRESSURE))

    def handles(self, operation: Operation, resource: ResourceType, subresource: str) -> bool:
        """Handle creates and updates of Pods."""
        return operation in ("CREATE", "UPDATE") and not subresource and resource.qualified == "pods"

    async def admit(self, attributes: Attributes) -> None:
        """Add the default tolerations to a new pod, and that of memory pressure to every pod that is not BestEffort.

        Raises what `validate` raises, and Forbidden (403) for too many tolerations.
        """
        pod: Object = attributes.obj or {}
        spec = pod.get("spec") or {}
        here = await self._find(attributes)
        more: list[Object] = []
        if attributes.operation == "CREATE":
            more += (self._cluster.default if here.default is None else here.default) or ()
        if qos_class(spec) != "BestEffort":
            more.append(self._pressure)
        own = spec.get("tolerations") or []
        try:
            both = merged(own, more) if more else own
        except ValueError as error:
            raise attributes.forbidden(str(error)) from None
        if both != own:
            spec = dict(spec)
            put(spec, "tolerations", [dict(each) for each in both], POD_SPEC_TAIL)
            attributes.fill({**pod, "spec": spec})
        self._check(attributes, here, both)

    async def validate(self, attributes: Attributes) -> None:
        """Raise Forbidden (403) for a toleration that is not allowed, and NotFound (404) for a missing namespace."""
        spec = (attributes.obj or {}).get("spec") or {}
        self._check(attributes, await self._find(attributes), spec.get("tolerations") or ())

    def _check(self, attributes: Attributes, here: Restriction, tolerations: Tolerations) -> None:
        allowed, whose = here.allowed, "namespace"
        if allowed is None:
            allowed, whose = self._cluster.allowed, "cluster"
        if not allowed:
            return
        if len(tolerations) > MOST:
            raise attributes.forbidden(f"at most {MOST} tolerations can be checked, not {len(tolerations)}")
        cover = Cover(allowed)
        if not all(cover.covers(each) for each in tolerations):
            merging = "pod tolerations (possibly merged with namespace default tolerations)"
            raise attributes.forbidden(f"{merging} conflict with its {whose} whitelist")

    async def _find(self, attributes: Attributes) -> Restriction:
        found = await attributes.find(self._namespaces, "", attributes.namespace)
        if found is None:
            raise NotFound.of("namespaces", "", attributes.namespace)
        if found.wrong:
            raise attributes.forbidden(found.wrong)
        return found


def annotated(annotations: Mapping[str, str], defaults: str, whitelist: str) -> Restriction:
    """Parse a namespace's annotations, lists in JSON; an empty list counts as set."""
    try:
        return Restriction(
            default=_parsed(defaults, annotations.get(defaults)),
            allowed=_parsed(whitelist, annotations.get(whitelist)),
        )
    except ValueError as error:
        return Restriction(wrong=str(error))


def _parsed(name: str, text: str | None) -> Tolerations | None:
    if text is None:
        return None
    try:
        found = loads(text) if text else []
    except ValueError:
        raise ValueError(f"annotation {name} is not JSON") from None
    if found is None:
        return None
    if not isinstance(found, list) or len(found) > MOST:
        raise ValueError(f"annotation {name} must be a list of up to {MOST} tolerations")
    for index, each in enumerate(found):
        if why := _mistyped(each):
            raise ValueError(f"annotation {name}: [{index}]{why}")
    return [_clean(each) for each in found]


def _mistyped(toleration: Any) -> str:
    """Return the field whose value has a wrong type, with the right type; empty if all are right."""
    if not isinstance(toleration, dict):
        return ": must be a toleration"
    for name in _TEXTS:
        if not isinstance(toleration.get(name) or "", str):
            return f".{name}: must be a string"
    given = toleration.get(_SECONDS)
    whole = isinstance(given, int) and not isinstance(given, bool) and -(2**63) <= given < 2**63
    return "" if given is None or whole else f".{_SECONDS}: must be an integer"


def _clean(toleration: Object) -> Object:
    """Return a toleration with its known and non-empty fields only."""
    found = {name: toleration[name] for name in _TEXTS if toleration.get(name)}
    return found if toleration.get(_SECONDS) is None else {**found, _SECONDS: toleration[_SECONDS]}


def read(given: Given | None) -> Restriction:
    """Return the configured restriction, or an empty one. Raises ConfigError for an invalid configuration."""
    if given is None:
        return Restriction()
    file = given.fields()
    check_kind(file, KIND, API_VERSION)
    file.only("apiVersion", "kind", "default", "whitelist")
    return Restriction(default=_listed(given, "default"), allowed=_listed(given, "whitelist"))


def _listed(given: Given, name: str) -> Tolerations:
    found = []
    for each in given.fields().sections(name):
        each.only(*_TEXTS, _SECONDS)
        if why := _mistyped(each.value):
            raise each.wrong(*why.removeprefix(".").split(": ", 1))
        for cause in check_toleration(each.value, None):
            raise each.wrong(cause.field, cause.message)
        found.append(_clean(each.value))
    if len(found) > MOST:
        raise given.fields().wrong(name, f"has more than {MOST} tolerations")
    return found
