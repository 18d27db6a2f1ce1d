"""ServiceAccount: pods run as an existing account, with its token and secrets (reference PLUG-45 to PLUG-48)."""

from __future__ import annotations

from random import Random
from typing import Final

from twisted.internet.interfaces import IReactorTime
from twisted.internet.task import deferLater

from orchtw.admission.attributes import Attributes, Operation
from orchtw.admission.host import AdmissionHost
from orchtw.admission.plugins.mountable_secrets import check_ephemeral, check_secrets, secret_names
from orchtw.naming.naming import Naming
from orchtw.registry.emission_order import put
from orchtw.registry.groups.core.pod_templates import POD_SPEC_TAIL
from orchtw.registry.listers.lister import Lister
from orchtw.registry.listers.service_accounts import ServiceAccount, service_accounts
from orchtw.schema.catalogue import ResourceType
from orchtw.values.generate_name import generate_name
from orchtw.wire.objects import Object

DEFAULT: Final = "default"
WAITS_S: Final = (0.01, 0.02, 0.05, 0.1, 0.2, 0.2, 0.3, 0.4, 0.5)
"""Delays between lookups of a missing account `default`, which a controller creates just after its namespace."""

TOKEN_S: Final = 3607
_EPHEMERAL: Final = "ephemeralcontainers"
_MODE: Final = 0o644
_AFTER_MOUNTS: Final = (
    *("volumeMounts", "volumeDevices", "livenessProbe", "readinessProbe", "startupProbe", "lifecycle"),
    *("terminationMessagePath", "terminationMessagePolicy", "imagePullPolicy", "securityContext"),
    *("stdin", "stdinOnce", "tty"),
)


class ServiceAccountPlugin:
    """Plugin ServiceAccount; an account just created by another process counts, even if not yet in the cache."""

    def __init__(self, accounts: Lister[ServiceAccount], naming: Naming, clock: IReactorTime, random: Random) -> None:
        self._accounts = accounts
        self._clock = clock
        self._random = random
        self._mirror = naming.translate("orch.io/config.mirror")
        self._path = naming.translate("/var/run/secrets/orch.io/serviceaccount")
        self._prefix = naming.translate("orch-api-access-")
        self._root_ca = naming.root_ca_config_map

    @classmethod
    def of(cls, host: AdmissionHost) -> ServiceAccountPlugin:
        """Return the plugin, backed by the server's accounts."""
        # Volume names are no secret, and the system's randomness would be a third of the plugin's time for a pod.
        return cls(service_accounts(host.targets, host.naming), host.naming, host.clock, Random())

    def handles(self, operation: Operation, resource: ResourceType, subresource: str) -> bool:
        """Handle creates of Pods, and updates of their ephemeral containers."""
        if resource.qualified != "pods":
            return False
        return (operation, subresource) in (("CREATE", ""), ("UPDATE", _EPHEMERAL))

    async def admit(self, attributes: Attributes) -> None:
        """Set a pod's account, token volume and imagePullSecrets. Raises what `validate` raises."""
        pod = attributes.obj
        if pod is None or attributes.operation != "CREATE" or self._is_mirror(pod):
            return await self.validate(attributes)
        spec = dict(pod.get("spec") or {})
        if not spec.get("serviceAccountName"):
            put(spec, "serviceAccountName", DEFAULT, POD_SPEC_TAIL)
            put(spec, "serviceAccount", DEFAULT, POD_SPEC_TAIL)
        account = await self._find(attributes, spec["serviceAccountName"])
        if self._mounts(account, spec):
            spec = self._mounted(spec)
        if not spec.get("imagePullSecrets") and account.pull_secrets:
            put(spec, "imagePullSecrets", [{"name": name} for name in account.pull_secrets], POD_SPEC_TAIL)
        attributes.fill({**pod, "spec": spec})
        _refuse(attributes, account, check_secrets(spec, account))
        return None

    async def validate(self, attributes: Attributes) -> None:
        """Raise Forbidden (403) if the account is missing, or does not list a secret that it must list.

        A mirror pod may use neither an account nor secrets.
        """
        pod = attributes.obj or {}
        spec: Object = pod.get("spec") or {}
        if attributes.operation != "CREATE":
            await self._check_ephemeral(attributes, spec)
        elif self._is_mirror(pod):
            self._check_mirror(attributes, spec)
        else:
            account = await self._find(attributes, spec.get("serviceAccountName", ""))
            _refuse(attributes, account, check_secrets(spec, account))

    async def _check_ephemeral(self, attributes: Attributes, spec: Object) -> None:
        name = spec.get("serviceAccountName", "")
        if not name:
            where = f"{attributes.namespace}/{attributes.name}"
            raise attributes.forbidden(f"no service account specified for pod {where}")
        account = await self._find(attributes, name)
        _refuse(attributes, account, check_ephemeral(spec, account))

    def _is_mirror(self, pod: Object) -> bool:
        return self._mirror in ((pod.get("metadata") or {}).get("annotations") or {})

    async def _find(self, attributes: Attributes, name: str) -> ServiceAccount:
        namespace = attributes.namespace
        found = await attributes.find(self._accounts, namespace, name)
        for wait_s in WAITS_S if name == DEFAULT else ():
            if found is not None:
                break
            await deferLater(self._clock, wait_s)
            found = self._accounts.get(namespace, name)
        if found is None:
            why = f'serviceaccount "{name}" not found'
            raise attributes.forbidden(f"error looking up service account {namespace}/{name}: {why}")
        return found

    @staticmethod
    def _mounts(account: ServiceAccount, spec: Object) -> bool:
        """Report whether a pod gets a token: its own setting takes precedence over its account's."""
        own = spec.get("automountServiceAccountToken")
        if own is None:
            own = account.mounts
        return True if own is None else bool(own)

    def _mounted(self, spec: Object) -> Object:
        """Return the spec with a token volume, mounted in each container that has no mount at its path."""
        volumes = spec.get("volumes") or []
        present = next((each["name"] for each in volumes if each["name"].startswith(self._prefix)), "")
        name = present or generate_name(self._prefix, self._random)
        mount = {"name": name, "readOnly": True, "mountPath": self._path}
        changed, needed = dict(spec), False
        for key in ("initContainers", "containers"):
            containers = spec.get(key) or []
            with_mounts = [self._with_mount(each, mount) for each in containers]
            if any(new is not old for new, old in zip(with_mounts, containers, strict=True)):
                changed[key], needed = with_mounts, True
        if not needed or present:
            return changed
        changed.pop("volumes", None)
        return {"volumes": [*volumes, {"name": name, "projected": self._projection()}], **changed}

    def _with_mount(self, container: Object, mount: Object) -> Object:
        mounts = container.get("volumeMounts") or []
        if any(each.get("mountPath") == self._path for each in mounts):
            return container
        container = dict(container)
        put(container, "volumeMounts", [*mounts, mount], _AFTER_MOUNTS)
        return container

    def _projection(self) -> Object:
        namespace = {"path": "namespace", "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.namespace"}}
        sources: list[Object] = [
            {"serviceAccountToken": {"expirationSeconds": TOKEN_S, "path": "token"}},
            {"configMap": {"name": self._root_ca, "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
            {"downwardAPI": {"items": [namespace]}},
        ]
        return {"sources": sources, "defaultMode": _MODE}

    @staticmethod
    def _check_mirror(attributes: Attributes, spec: Object) -> None:
        if spec.get("serviceAccountName"):
            raise attributes.forbidden("a mirror pod may not reference service accounts")
        if next(secret_names(spec), None) is not None:
            raise attributes.forbidden("a mirror pod may not reference secrets")
        projected = (volume.get("projected") or {} for volume in spec.get("volumes") or ())
        if any(each.get("serviceAccountToken") for volume in projected for each in volume.get("sources") or ()):
            raise attributes.forbidden("a mirror pod may not use ServiceAccountToken volume projections")


def _refuse(attributes: Attributes, account: ServiceAccount, why: str) -> None:
    """Raise Forbidden (403) with `why`, if it is not empty and the account limits secrets."""
    if why and account.limits_secrets:
        raise attributes.forbidden(why)
