"""Quota evaluators by resource (reference PLUG-26, PLUG-27)."""

from __future__ import annotations

from typing import Final

from orchtw.naming.naming import Naming
from orchtw.quota.amounts import ONE, Amount, amount, rounded_up, whole
from orchtw.quota.pods import PodEvaluator
from orchtw.quota.scopes import claim_traits
from orchtw.quota.usage import Evaluator, Usage, count_name
from orchtw.wire.objects import Object

Home = tuple[str, str]
"""Group and plural of a resource."""

_ALIASES: Final = frozenset({"configmaps", "replicationcontrollers", "resourcequotas", "secrets"})
"""Core resources that quotas can also limit by their bare names."""

_IGNORED: Final = (
    *(("", plural) for plural in ("bindings", "componentstatuses", "events")),
    ("events.orch.io", "events"),
    ("authentication.orch.io", "tokenreviews"),
    *(
        ("authorization.orch.io", plural)
        for plural in (
            *("localsubjectaccessreviews", "selfsubjectaccessreviews", "selfsubjectrulesreviews"),
            "subjectaccessreviews",
        )
    ),
)


class CountEvaluator:
    """Evaluator of objects that are only counted."""

    grows = False

    def __init__(self, *names: str) -> None:
        self.names = frozenset(names)
        self.fixed: Usage | None = Usage.of({name: ONE for name in names})

    def counts(self, name: str) -> bool:
        """Report whether the name is counted, as `Evaluator.counts`; the methods below are those of `Evaluator`."""
        return name in self.names

    def usage(self, obj: Object) -> Usage:
        assert self.fixed is not None
        return self.fixed

    def missing(self, obj: Object) -> set[str]:
        return set()


class ServiceEvaluator(CountEvaluator):
    """Evaluator of Services: their number, node ports and load balancers."""

    grows = True
    _PORTS: Final = "services.nodeports"
    _BALANCERS: Final = "services.loadbalancers"

    def __init__(self) -> None:
        super().__init__("count/services", "services", self._PORTS, self._BALANCERS)
        self.fixed = None

    def usage(self, obj: Object) -> Usage:
        """Return the usage; requested node ports count even before they are allocated."""
        spec = obj["spec"]
        ports, kind = spec.get("ports") or (), spec.get("type")
        used = {"count/services": ONE, "services": ONE, self._PORTS: whole(0), self._BALANCERS: whole(0)}
        if kind == "NodePort":
            used[self._PORTS] = whole(len(ports))
        elif kind == "LoadBalancer":
            used[self._BALANCERS] = ONE
            if spec.get("allocateLoadBalancerNodePorts") is False:
                ports = [port for port in ports if port.get("nodePort")]
            used[self._PORTS] = whole(len(ports))
        return Usage.of(used)


class ClaimEvaluator:
    """Evaluator of PersistentVolumeClaims: their number and requested storage, in total and by storage class."""

    grows = True
    fixed: Usage | None = None
    _CLAIMS: Final = "persistentvolumeclaims"
    _STORAGE: Final = "requests.storage"

    def __init__(self, naming: Naming) -> None:
        self._suffix = f".storageclass.{naming.group('storage.orch.io')}/"
        self._suffixes = (self._suffix + self._CLAIMS, self._suffix + self._STORAGE)
        self.names = frozenset({self._CLAIMS, self._STORAGE, f"count/{self._CLAIMS}"})
        self._annotation = f"volume.beta.{naming.label_domain}/storage-class"

    def counts(self, name: str) -> bool:
        """Report whether the name is counted, as `Evaluator.counts`; the methods below are those of `Evaluator`."""
        return name in self.names or name.endswith(self._suffixes)

    def usage(self, obj: Object) -> Usage:
        used: dict[str, Amount] = {self._CLAIMS: ONE, f"count/{self._CLAIMS}": ONE}
        asked = ((obj["spec"].get("resources") or {}).get("requests") or {}).get("storage")
        storage = None if asked is None else rounded_up(amount(asked))
        if storage is not None:
            used[self._STORAGE] = storage
        if name := self._class_of(obj):
            used[name + self._suffixes[0]] = ONE
            if storage is not None:
                used[name + self._suffixes[1]] = storage
        return Usage.of(used, claim_traits(obj))

    def _class_of(self, claim: Object) -> str:
        annotations = claim["metadata"].get("annotations") or {}
        if self._annotation in annotations:
            return str(annotations[self._annotation])
        return claim["spec"].get("storageClassName") or ""

    def missing(self, obj: Object) -> set[str]:
        return set()


class Evaluators:
    """Evaluators of all resources; objects without a special evaluator are counted."""

    def __init__(self, naming: Naming) -> None:
        self._ignored = frozenset((naming.group(group) if group else "", plural) for group, plural in _IGNORED)
        self._pods, self._services, self._claims = PodEvaluator(naming), ServiceEvaluator(), ClaimEvaluator(naming)
        self._known: dict[Home, Evaluator] = {
            ("", "pods"): self._pods,
            ("", "services"): self._services,
            ("", "persistentvolumeclaims"): self._claims,
        }

    def of(self, home: Home) -> Evaluator | None:
        """Return the evaluator of a namespaced resource, or None if quotas ignore it."""
        if home in self._ignored:
            return None
        found = self._known.get(home)
        if found is None:
            group, plural = home
            alias = (plural,) if not group and plural in _ALIASES else ()
            found = CountEvaluator(count_name(group, plural), *alias)
        return found

    def home(self, name: str) -> Home | None:
        """Return the resource that a quota's entry `name` limits, or None if it limits none."""
        if name.startswith("count/"):
            plural, _, group = name.removeprefix("count/").partition(".")
            return None if (group, plural) in self._ignored else (group, plural)
        if name in _ALIASES:
            return "", name
        for plural, evaluator in (("persistentvolumeclaims", self._claims), ("services", self._services)):
            if evaluator.counts(name):
                return "", plural
        return ("", "pods") if self._pods.counts(name) else None
