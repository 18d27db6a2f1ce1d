"""PodSecurityPolicy: pods must satisfy a policy that they may use (reference PLUG-19, PLUG-104 to PLUG-109)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec
from twisted.internet.interfaces import IReactorTime
from twisted.internet.task import deferLater

from orchtw.admission.attributes import Attributes, Operation
from orchtw.admission.host import AdmissionHost
from orchtw.admission.plugins.pod_security_policy.checking import problems
from orchtw.admission.plugins.pod_security_policy.filling import filled
from orchtw.admission.plugins.pod_security_policy.policies import Policies
from orchtw.admission.plugins.pod_security_policy.policy import SecurityPolicy
from orchtw.admission.plugins.pod_security_policy.rights import Rights, users_of
from orchtw.errors import Cause, shown_causes
from orchtw.naming.naming import Naming
from orchtw.registry.groups.core.pod_annotations import annotations_of, keys_in
from orchtw.request import UserInfo
from orchtw.schema.catalogue import ResourceType
from orchtw.wire.objects import Object

SLICE_S: Final = 0.008
"""Reactor time for trying policies in one turn: there may be many."""

EPHEMERAL: Final = "ephemeralcontainers"
_CHANGE_OFTEN: Final = ("ownerReferences", "finalizers", "managedFields", "resourceVersion", "generation")


class Fit(msgspec.Struct, frozen=True, kw_only=True):
    """Result of a check: the admitted pod and the policy's name, or the causes of all policies that may be used."""

    pod: Object | None = None
    policy: str = ""
    causes: Sequence[Cause] = ()


class PodSecurityPolicy:
    """Plugin PodSecurityPolicy: takes the first policy by name that admits a pod as it is, else with changes."""

    def __init__(self, naming: Naming, policies: Policies, rights: Rights, clock: IReactorTime) -> None:
        self._keys = keys_in(naming.vocabulary)
        self._annotation = naming.translate("orch.io/psp")
        self._audit = naming.group("podsecuritypolicy.policy.orch.io")
        self._policies = policies
        self._rights = rights
        self._clock = clock

    @classmethod
    def of(cls, host: AdmissionHost) -> PodSecurityPolicy:
        """Return the plugin, backed by the server's policies and rights."""
        naming = host.naming
        return cls(naming, Policies(host.targets, naming), Rights(host.authorizer), host.clock)

    def handles(self, operation: Operation, resource: ResourceType, subresource: str) -> bool:
        """Handle creates and updates of Pods, and updates of their ephemeral containers."""
        return operation in ("CREATE", "UPDATE") and resource.qualified == "pods" and subresource in ("", EPHEMERAL)

    async def admit(self, attributes: Attributes) -> None:
        """Set a policy's defaults in a new pod, or in ephemeral containers.

        Raises Forbidden (403) if no policy that may be used admits the pod.
        """
        pod = attributes.obj
        if pod is None or (attributes.operation == "UPDATE" and attributes.subresource != EPHEMERAL):
            return
        fit = await self._fit(attributes, pod, fills=True)
        if fit.pod is None:
            raise attributes.forbidden(f"PodSecurityPolicy: unable to admit pod: {_told(fit.causes)}")
        attributes.annotate(f"{self._audit}/admit-policy", fit.policy)
        if attributes.operation == "CREATE":
            attributes.obj = self._annotated(fit.pod, fit.policy)
        elif fit.pod is not pod:
            attributes.obj = fit.pod

    async def validate(self, attributes: Attributes) -> None:
        """Raise Forbidden (403) if no policy that may be used admits the pod as it is."""
        pod, old = attributes.obj or {}, attributes.old
        if old is not None and not attributes.subresource and _same(pod, old):
            return
        fit = await self._fit(attributes, pod, fills=False)
        if fit.pod is None:
            raise attributes.forbidden(f"PodSecurityPolicy: unable to validate pod: {_told(fit.causes)}")
        attributes.annotate(f"{self._audit}/validate-policy", fit.policy)

    async def _fit(self, attributes: Attributes, pod: Object, *, fills: bool) -> Fit:
        if (due := self._policies.due()) is not None:
            await attributes.until_known(due)
        users = users_of(attributes.user, attributes.namespace, pod["spec"].get("serviceAccountName", ""))
        hint = "" if fills else annotations_of(pod).get(self._annotation, "")
        changed = Fit()
        refusing: list[tuple[str, list[Cause]]] = []
        end = self._clock.seconds() + SLICE_S
        for policy in self._policies.sorted(hint):
            found, causes = await attributes.surface.run(
                attributes.size_bytes, lambda policy=policy: self._tried(pod, policy)  # type: ignore[misc]
            )
            if causes:
                refusing.append((policy.name, causes))
            elif found is pod or (fills and not changed.pod and self._may_fill(attributes, pod, found)):
                if await self._rights.allow(users, attributes.namespace, policy.name):
                    changed = Fit(pod=found, policy=policy.name)
                    if found is pod:
                        return changed
            if self._clock.seconds() >= end:
                await deferLater(self._clock, 0)
                end = self._clock.seconds() + SLICE_S
        return changed if changed.pod else Fit(causes=await self._usable(attributes.namespace, users, refusing))

    def _tried(self, pod: Object, policy: SecurityPolicy) -> tuple[Object, list[Cause]]:
        """Return the pod with the policy's defaults, and the causes that reject it even then."""
        found = filled(pod, policy, self._keys)
        return found, problems(found, policy, self._keys)

    @staticmethod
    def _may_fill(attributes: Attributes, pod: Object, found: Object) -> bool:
        """Report whether a policy may make these changes: in an existing pod, to new ephemeral containers only."""
        if attributes.operation == "CREATE":
            return True
        spec, same = found["spec"], found["metadata"] is pod["metadata"]
        if not same or any(spec[key] is not pod["spec"].get(key) for key in spec if key != "ephemeralContainers"):
            return False
        before = ((attributes.old or {}).get("spec") or {}).get("ephemeralContainers") or ()
        kept = {container.get("name") for container in before}
        pairs = zip(spec.get("ephemeralContainers") or (), pod["spec"].get("ephemeralContainers") or (), strict=True)
        return all(new == sent for new, sent in pairs if sent.get("name") in kept)

    async def _usable(
        self, namespace: str, users: Sequence[UserInfo], refusing: Sequence[tuple[str, list[Cause]]]
    ) -> list[Cause]:
        """Return the causes of the refusing policies that one of the users may use."""
        causes: list[Cause] = []
        for name, found in refusing:
            if await self._rights.allow(users, namespace, name):
                causes += found
        return causes

    def _annotated(self, pod: Object, policy: str) -> Object:
        annotations = {**annotations_of(pod), self._annotation: policy}
        return {**pod, "metadata": {**pod["metadata"], "annotations": annotations}}


def _told(causes: Sequence[Cause]) -> str:
    return f"[{' '.join(map(str, shown_causes(causes)))}]"


def _same(new: Object, old: Object) -> bool:
    """Report whether two pods differ only in metadata that no policy concerns, such as owners and finalizers."""
    one, other = ({**each, "metadata": _lasting(each["metadata"])} for each in (new, old))
    return one == other


def _lasting(metadata: Object) -> Object:
    return {key: value for key, value in metadata.items() if key not in _CHANGE_OFTEN}
