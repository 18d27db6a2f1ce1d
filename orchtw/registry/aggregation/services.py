"""Current APIServices as values: the group versions that other servers serve, and the order in which all are shown
(reference AGG-1, AGG-9).
"""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

import attrs
import msgspec
from twisted.logger import Logger

from orchtw.naming.naming import Naming
from orchtw.outbound.services import ServiceReference
from orchtw.registry.targets import Targets
from orchtw.watch.entry import Entry
from orchtw.watch.event_log import Event
from orchtw.wire.objects import Object

GROUP, VERSION, PLURAL = "apiregistration.orch.io", "v1", "apiservices"
PORT: Final = 443

GroupVersion = tuple[str, str]


class ServiceBackend(msgspec.Struct, frozen=True, kw_only=True):
    """Address and authorities of another server: `ca_bundle` is PEM, empty for the system's authorities."""

    service: ServiceReference
    ca_bundle: bytes = b""
    insecure: bool = False

    @property
    def url(self) -> str:
        """URL of the server, with the host that its certificate names."""
        return f"https://{self.service.host}:{self.service.port}"


@attrs.frozen(slots=True, kw_only=True)
class ApiService:
    """One group version. `backend` is None for what this server serves; `managed` is the value of its managed label.

    `reason` is that of the condition that says whether it is `available`.
    """

    name: str
    group: str
    version: str
    group_priority: int
    version_priority: int
    backend: ServiceBackend | None = None
    available: bool = False
    reason: str = attrs.field(default="", eq=False)
    managed: str = ""

    @property
    def group_version(self) -> GroupVersion:
        """Group and version as a pair."""
        return self.group, self.version

    @property
    def path(self) -> str:
        """Path of its resources."""
        return f"/apis/{self.group}/{self.version}"

    @classmethod
    def of(cls, obj: Object, naming: Naming) -> ApiService:
        """Return the value of an object that has been validated."""
        spec, labels = obj["spec"], obj["metadata"].get("labels") or {}
        return cls(
            name=obj["metadata"]["name"],
            group=spec.get("group", ""),
            version=spec.get("version", ""),
            group_priority=spec.get("groupPriorityMinimum", 0),
            version_priority=spec.get("versionPriority", 0),
            backend=_backend(spec),
            available=is_available(obj),
            reason=_reason(obj),
            managed=labels.get(managed_label(naming), ""),
        )


def managed_label(naming: Naming) -> str:
    """Return the name of the label on APIServices that the server makes (reference AGG-2)."""
    return f"{naming.component_prefix}aggregator.{naming.label_domain}/automanaged"


def is_available(obj: Object) -> bool:
    """Report whether condition Available is True."""
    found = (obj.get("status") or {}).get("conditions") or ()
    return any(each.get("type") == "Available" and each.get("status") == "True" for each in found)


def _reason(obj: Object) -> str:
    found = (obj.get("status") or {}).get("conditions") or ()
    return next((each.get("reason") or "" for each in found if each.get("type") == "Available"), "")


def _backend(spec: Object) -> ServiceBackend | None:
    service = spec.get("service")
    if service is None:
        return None
    return ServiceBackend(
        service=ServiceReference(
            namespace=service.get("namespace", ""), name=service.get("name", ""), port=service.get("port") or PORT
        ),
        ca_bundle=b64decode(spec.get("caBundle") or ""),
        insecure=bool(spec.get("insecureSkipTLSVerify")),
    )


Changed = Callable[[ApiService | None, ApiService | None], None]
"""Receives the old and the new state of an APIService; None: it does not exist."""


class ApiServices:
    """All APIServices by name, and the remote ones by group version; follows the cache from `open` on."""

    _log = Logger()

    def __init__(self, targets: Targets, naming: Naming) -> None:
        self.target = targets.stored_target(naming.group(GROUP), VERSION, PLURAL)
        self._naming = naming
        self._all: dict[str, ApiService] = {}
        self._listeners: tuple[Changed, ...] = ()
        self.remote: dict[GroupVersion, ApiService] = {}

    @property
    def all(self) -> Mapping[str, ApiService]:
        """Every APIService by its name."""
        return MappingProxyType(self._all)

    def open(self) -> None:
        """Take in the filled caches, and follow them from then on."""
        cache = self.target.stored.cache
        for entry in cache.snapshot():
            self._take(entry.name, entry)
        cache.follow(self)

    def listen(self, changed: Changed) -> None:
        """Call `changed`, which must not raise, for each change of an APIService that matters."""
        self._listeners = (*self._listeners, changed)

    def take(self, event: Event) -> None:
        """Take in an event, as a `Follower`."""
        self._take(event.key, event.new)

    def closed(self) -> None:
        """Do nothing: the resource is one of the release and never goes away."""

    def _take(self, name: str, entry: Entry | None) -> None:
        old, new = self._all.get(name), None
        if entry is not None:
            try:
                new = ApiService.of(self.target.stored.load(entry), self._naming)
            except Exception:  # noqa: BLE001 - one that was stored by other rules must not stop the cache
                self._log.failure("APIService {name} cannot be read", name=name)
        if old == new:
            return
        if old is not None:
            del self._all[name]
            self.remote.pop(old.group_version, None)
        if new is not None:
            self._all[name] = new
            if new.backend is not None and new.group:
                self.remote[new.group_version] = new
        for changed in self._listeners:
            changed(old, new)
