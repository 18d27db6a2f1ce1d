"""PodSecurity: enforces the standard of a namespace on its pods (reference PLUG-35 to PLUG-40, PLUG-100)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from orchtw.admission.attributes import Attributes, Operation
from orchtw.admission.configuration import Given
from orchtw.admission.host import AdmissionHost
from orchtw.admission.plugins.pod_security.checks import violations
from orchtw.admission.plugins.pod_security.configuration import PodSecuritySettings, read
from orchtw.admission.plugins.pod_security.existing import ExistingPods
from orchtw.admission.plugins.pod_security.metrics import PodSecurityMetrics
from orchtw.admission.plugins.pod_security.namespaces import namespace_policies
from orchtw.admission.plugins.pod_security.policy import LOOSEST, Labels, NamespacePolicy, Standard, stricter
from orchtw.admission.plugins.pod_security.subject import Subject, subject
from orchtw.admission.plugins.pod_security.updates import matters
from orchtw.admission.plugins.pod_security.violations import Violations
from orchtw.admission.plugins.pod_security.workloads import PODS, TEMPLATES, pod_in
from orchtw.errors import Cause, Invalid, NotFound
from orchtw.naming.naming import Naming
from orchtw.registry.groups.core.pod_annotations import keys_in
from orchtw.registry.listers.lister import Lister
from orchtw.schema.catalogue import ResourceType
from orchtw.values.causes import go_quote

GATE: Final = "PodSecurity"
NAMESPACES: Final = "namespaces"
POD_SUBRESOURCES: Final = ("", "ephemeralcontainers")
ANNOTATION: Final = "pod-security.orch.io/"

_LOOSEST: Final = str(LOOSEST)


class PodSecurity:
    """Plugin PodSecurity: refuses pods, or annotates and warns about them and about pod templates.

    It also checks the labels of namespaces.
    """

    def __init__(
        self,
        settings: PodSecuritySettings,
        naming: Naming,
        namespaces: Lister[NamespacePolicy],
        existing: ExistingPods,
        metrics: PodSecurityMetrics,
        *,
        enabled: bool = True,
    ) -> None:
        self._settings = settings
        self._labels = Labels(naming, settings.defaults)
        self._keys = keys_in(naming.vocabulary)
        self._annotation = naming.translate(ANNOTATION)
        self._namespaces = namespaces
        self._existing = existing
        self._metrics = metrics
        self._enabled = enabled

    @classmethod
    def of(cls, host: AdmissionHost, given: Given | None) -> PodSecurity:
        """Return the plugin, backed by the server's namespaces and pods. Raises ConfigError."""
        settings, naming = read(given), host.naming
        namespaces = namespace_policies(host.targets, Labels(naming, settings.defaults))
        pods = host.targets.stored_target("", "v1", PODS).stored
        existing = ExistingPods(pods, keys_in(naming.vocabulary), host.clock, settings.runtime_classes)
        metrics = PodSecurityMetrics(host.metrics)
        return cls(settings, naming, namespaces, existing, metrics, enabled=host.gates[GATE])

    def handles(self, operation: Operation, resource: ResourceType, subresource: str) -> bool:
        """Handle creates and updates of Namespaces, of Pods, and of objects with pod templates."""
        if operation not in ("CREATE", "UPDATE") or not self._enabled:
            return False
        name = resource.qualified
        if name == PODS:
            return subresource in POD_SUBRESOURCES
        return not subresource and (name == NAMESPACES or name in TEMPLATES)

    async def validate(self, attributes: Attributes) -> None:
        """Raise Forbidden (403) for a pod that violates the enforced standard of its namespace.

        Raises NotFound (404) if the namespace does not exist, and Invalid (422) for wrong labels of a Namespace.
        """
        resource = attributes.resource.qualified
        if resource == NAMESPACES:
            await self._validate_namespace(attributes)
            return
        settings = self._settings
        if attributes.namespace in settings.namespaces:
            self._exempt(attributes, "namespace")
            return
        if attributes.user.name in settings.users:
            self._exempt(attributes, "user")
            return
        policy = self._namespaces.get("", attributes.namespace) or await self._awaited(attributes)
        if resource != PODS:
            passes = policy.templates_pass
        elif passes := policy.pods_pass:
            self._annotate(attributes, "enforce-policy", _LOOSEST)
            self._metrics.passed(attributes)
        if not passes:
            await self._validate_pod(attributes, policy, resource)

    async def _awaited(self, attributes: Attributes) -> NamespacePolicy:
        if (due := self._namespaces.due()) is not None:
            await attributes.until_known(due)
        found = self._namespaces.get("", attributes.namespace)
        if found is None:
            self._metrics.failed(attributes, fatal=True)
            raise NotFound.of(NAMESPACES, "", attributes.namespace)
        return found

    async def _validate_pod(self, attributes: Attributes, policy: NamespacePolicy, resource: str) -> None:
        obj = attributes.obj or {}
        found = pod_in(resource, obj)
        if found is None:
            return
        is_pod = resource == PODS
        if is_pod and attributes.old is not None and not matters(obj, attributes.old, self._keys):
            return
        if found[1].get("runtimeClassName") in self._settings.runtime_classes:
            self._exempt(attributes, "runtimeClass")
            return
        modes = ("enforce", "audit", "warn") if is_pod else ("audit", "warn")
        standards = {mode: getattr(policy, mode) for mode in modes}
        looked = await attributes.surface.run(
            attributes.size_bytes, lambda: _looked(standards, subject(*found, self._keys))
        )
        self._judge(attributes, policy, standards, looked)

    def _judge(
        self,
        attributes: Attributes,
        policy: NamespacePolicy,
        standards: Mapping[str, Standard],
        looked: Mapping[Standard, Violations],
    ) -> None:
        """Report violations in each mode: by audit annotations, by a Forbidden (403), or else by a warning."""
        told = {mode: _told(standard, looked[standard]) for mode, standard in standards.items() if looked[standard]}
        if policy.problems:
            self._metrics.failed(attributes, fatal=False)
            self._annotate(attributes, "error", f"Failed to parse policy: {_together(policy.problems)}")
        if "enforce" in standards:
            self._metrics.evaluated(attributes, policy.enforce, "enforce", denied="enforce" in told)
            self._annotate(attributes, "enforce-policy", str(policy.enforce))
        if "audit" in told:
            self._metrics.evaluated(attributes, policy.audit, "audit", denied=True)
            self._annotate(attributes, "audit-violations", f"would violate {told['audit']}")
        if "enforce" in told:
            raise attributes.forbidden(f"violates {told['enforce']}")
        if "warn" in told:
            self._metrics.evaluated(attributes, policy.warn, "warn", denied=True)
            attributes.warn(f"would violate {told['warn']}")

    async def _validate_namespace(self, attributes: Attributes) -> None:
        obj, old = attributes.obj or {}, attributes.old
        new = self._labels.read(obj["metadata"].get("labels") or {})
        before = None if old is None else self._labels.read(old["metadata"].get("labels") or {})
        if new.problems and (before is None or new.problems != before.problems):
            raise Invalid.of("Namespace", "", attributes.shown_name, new.problems)
        if before is None or not stricter(new.enforce, before.enforce):
            return
        if attributes.name in self._settings.namespaces:
            self._exempt(attributes, "namespace")
            return
        for text in await self._existing.warnings(attributes.name, new.enforce, attributes.surface.run):
            attributes.warn(text)

    def _exempt(self, attributes: Attributes, why: str) -> None:
        self._metrics.exempt(attributes)
        self._annotate(attributes, "exempt", why)

    def _annotate(self, attributes: Attributes, key: str, value: str) -> None:
        attributes.annotate(self._annotation + key, value)


def _looked(standards: Mapping[str, Standard], pod: Subject) -> dict[Standard, Violations]:
    return {standard: violations(standard, pod) for standard in set(standards.values())}


def _told(standard: Standard, found: Violations) -> str:
    return f"PodSecurity {go_quote(str(standard))}: {', '.join(map(str, found))}"


def _together(problems: tuple[Cause, ...]) -> str:
    texts = list(map(str, problems))
    return texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"
