"""PodSecurityPolicy: a pod fits a policy that may be used for it (reference PLUG-19, PLUG-104 to PLUG-109)."""

from __future__ import annotations

from collections.abc import Awaitable, Iterator, Sequence
from typing import Final, Protocol

import attrs
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
from orchtw.naming.names import Naming
from orchtw.registry.groups.core.pod_annotations import annotations_of, keys_in
from orchtw.request import UserInfo
from orchtw.schema.catalogue import ResourceType
from orchtw.wire.objects import Object

SLICE_S: Final = 0.008
"""How long policies may hold the reactor in one turn: there may be many."""

EPHEMERAL: Final = "ephemeralcontainers"
_CHANGE_OFTEN: Final = ("ownerReferences", "finalizers", "managedFields", "resourceVersion", "generation")


class PolicyLookup(Protocol):
    """The policies there are."""

    def sorted(self, first: str = "") -> Iterator[SecurityPolicy]:
        """All of them by name, but for `first`."""

    def due(self) -> Awaitable[None] | None:
        """Return what to await before a policy counts as missing, or None."""


@attrs.frozen(slots=True, kw_only=True)
class Fit:
    """The pod that a policy lets in, and the policy's name; else what is wrong with it under all of them."""

    pod: Object | None = None
    policy: str = ""
    causes: Sequence[Cause] = ()


class PodSecurityPolicy:
    """The first policy by name counts that lets a pod in as it is, or else the first that does with changes."""

    def __init__(self, naming: Naming, policies: PolicyLookup, rights: Rights, clock: IReactorTime) -> None:
        self._keys = keys_in(naming.vocabulary)
        self._annotation = naming.translate("orch.io/psp")
        self._audit = naming.group("podsecuritypolicy.policy.orch.io")
        self._policies = policies
        self._rights = rights
        self._clock = clock

    @classmethod
    def of(cls, host: AdmissionHost) -> PodSecurityPolicy:
        """The plugin over the server's own policies and rights."""
        naming = host.naming
        return cls(naming, Policies(host.targets, naming), Rights(host.authorizer), host.clock)

    def handles(self, operation: Operation, resource: ResourceType, subresource: str) -> bool:
        """Creates and updates of pods, and of their ephemeral containers."""
        return operation in ("CREATE", "UPDATE") and resource.qualified == "pods" and subresource in ("", EPHEMERAL)

    async def admit(self, attributes: Attributes) -> None:
        """Let a policy fill in what a new pod, or a new container of it, leaves open.

        Forbidden (403): no policy that may be used lets it in.
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
        """Forbidden (403): no policy that may be used lets the pod in as it is."""
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
        """The pod as the policy would have it, and what is wrong with it even so."""
        found = filled(pod, policy, self._keys)
        return found, problems(found, policy, self._keys)

    @staticmethod
    def _may_fill(attributes: Attributes, pod: Object, found: Object) -> bool:
        """Report whether the policy may change a pod like that: of an existing one, new containers only."""
        if attributes.operation == "CREATE":
            return True
        spec, same = found["spec"], found["metadata"] is pod["metadata"]
        return same and all(spec[key] is pod["spec"].get(key) for key in spec if key != "ephemeralContainers")

    async def _usable(
        self, namespace: str, users: Sequence[UserInfo], refusing: Sequence[tuple[str, list[Cause]]]
    ) -> list[Cause]:
        """The causes of those policies only that somebody may use."""
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
    """Report whether only metadata of ownership differ: other plugins decide on those."""
    one, other = ({**each, "metadata": _lasting(each["metadata"])} for each in (new, old))
    return one == other


def _lasting(metadata: Object) -> Object:
    return {key: value for key, value in metadata.items() if key not in _CHANGE_OFTEN}
