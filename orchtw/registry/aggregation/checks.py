"""Availability checks of an APIService: its Service, its endpoints, and a request (reference AGG-3)."""

from __future__ import annotations

from typing import Any, Final

from twisted.internet.defer import Deferred, DeferredList

from orchtw.naming.naming import Naming
from orchtw.registry.aggregation.backends import Backends, NoAnswer
from orchtw.registry.aggregation.conditions import (
    LOCAL,
    PASSED,
    AvailabilityVerdict,
    failed_discovery,
    flaw,
    no_access,
    no_service,
)
from orchtw.registry.aggregation.services import ApiService, ServiceBackend
from orchtw.registry.stored import Stored
from orchtw.registry.targets import Targets
from orchtw.request import UserInfo
from orchtw.storage.cache.resource import DamagedObject
from orchtw.wire.objects import Object

CHECK_S: Final = 5.0

ATTEMPTS: Final = 5
"""Concurrent requests to a Service that has several addresses: one that works is enough."""


class Checks:
    """Checks that decide on the Available condition of one APIService."""

    def __init__(self, targets: Targets, backends: Backends, naming: Naming) -> None:
        self.services = targets.stored_target("", "v1", "services").stored
        self.endpoints = targets.stored_target("", "v1", "endpoints").stored
        self._backends = backends
        self._user = UserInfo(
            name=f"system:{naming.component_prefix}aggregator", groups=(naming.administrators_group,)
        )

    async def verdict(self, service: ApiService) -> AvailabilityVerdict:
        """Return the verdict of all checks."""
        backend = service.backend
        if backend is None:
            return LOCAL
        if self._backends.is_mapped(backend):
            return await self._discovery(service, backend, backend.url)
        return self._objects(backend) or await self._discovery(service, backend, self._url(backend))

    def _objects(self, backend: ServiceBackend) -> AvailabilityVerdict | None:
        try:
            found = _load(self.services, backend)
        except DamagedObject as problem:
            return no_access(backend, "Service", problem.message)
        if found is None:
            return no_service(backend)
        try:
            return flaw(backend, found, _load(self.endpoints, backend))
        except DamagedObject as problem:
            return no_access(backend, "Endpoints", problem.message)

    async def _discovery(self, service: ApiService, backend: ServiceBackend, url: str) -> AvailabilityVerdict:
        count = ATTEMPTS if self._has_several_places(backend) else 1
        asked = [Deferred.fromCoroutine(self._ask(service, backend, url)) for _ in range(count)]
        outcome: Any = await DeferredList(asked, fireOnOneCallback=True, consumeErrors=True)
        if isinstance(outcome, tuple):
            return PASSED
        return failed_discovery(str(outcome[-1][1].value))

    def _has_several_places(self, backend: ServiceBackend) -> bool:
        subsets = (_load(self.endpoints, backend) or {}).get("subsets") or ()
        return sum(len(subset.get("addresses") or ()) for subset in subsets) > 1

    def _url(self, backend: ServiceBackend) -> str:
        """Return the URL of the request: the host of an external name, else the Service."""
        spec = (_load(self.services, backend) or {}).get("spec") or {}
        if spec.get("type") == "ExternalName":
            return f"https://{spec.get('externalName', '')}:{backend.service.port}"
        return backend.url

    async def _ask(self, service: ApiService, backend: ServiceBackend, url: str) -> None:
        shown = url + service.path
        try:
            answer = await self._backends.get(backend, service.path, self._user, timeout_s=CHECK_S)
        except NoAnswer as problem:
            text = f'failing or missing response from {shown}: Get "{shown}": {problem}'
            raise NoAnswer(text) from None
        if not 200 <= answer.head.code < 300:
            status = f"bad status from {shown}: {answer.head.code}"
            raise NoAnswer(f"failing or missing response from {shown}: {status}")


def _load(stored: Stored, backend: ServiceBackend) -> Object | None:
    entry = stored.get(backend.service.namespace, backend.service.name)
    return None if entry is None else stored.load(entry)
