"""The resources of aggregated API servers, by their own discovery (reference AGG-17)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec
from twisted.internet.defer import Deferred, DeferredList, DeferredSemaphore
from twisted.logger import Logger

from orchtw.client.aggregated.answers import UNAVAILABLE, made
from orchtw.client.aggregated.requests import AskedRequest, Requests
from orchtw.client.interface import Discovered, Resource
from orchtw.errors import InternalError, NotFound, StatusError
from orchtw.registry.aggregation.services import ApiService, ApiServices, GroupVersion
from orchtw.schema.versions import maturity
from orchtw.values.names import dns_label
from orchtw.wire.objects import Object

ASKED_AT_A_TIME: Final = 8
MOST_RESOURCES: Final = 1000
"""Limit of the resources of one group version."""


class _Part(msgspec.Struct, frozen=True, kw_only=True):
    """Resources that a group version has been seen to serve."""

    service: ApiService
    resources: tuple[Resource, ...]


class AggregatedDiscovery:
    """Asks the servers of all APIServices.

    Results are kept while the APIService points to the server: one that does not answer now still has its kinds.
    Versions of one plural in a group are one resource, of the first version in the group's order.
    """

    _log = Logger()

    def __init__(self, services: ApiServices, requests: Requests) -> None:
        self._services = services
        self._requests = requests
        self._parts: dict[GroupVersion, _Part] = {}
        self._chosen: dict[tuple[str, str], Resource] = {}
        self._by_kind: dict[tuple[str, str], Resource] = {}
        self._listeners: list[Callable[[], None]] = []
        services.listen(self._changed)

    async def discover(self) -> Discovered:
        """Return the resources that the servers serve now, and the group versions whose discovery failed."""
        failures = await self._asked()
        found = [each for each in self._chosen.values() if each.api_version not in failures]
        return Discovered(found, failures)

    def listen(self, changed: Callable[[], None]) -> Callable[[], None]:
        """Call `changed` when an APIService points to another server, or its server comes or goes.

        Returns a function that ends it.
        """
        self._listeners.append(changed)
        return lambda: self._listeners.remove(changed)

    def is_remote(self, api_version: str) -> bool:
        """Report whether another server serves this group version."""
        group, _, version = api_version.rpartition("/")
        return (group, version) in self._services.remote

    def resource_of(self, api_version: str, kind: str) -> Resource | None:
        """Return the resource of a known kind, or None."""
        return self._by_kind.get((api_version, kind))

    def service_of(self, resource: Resource) -> ApiService:
        """Return the service of a resource. Raises NotFound (404) once it is gone."""
        service = self._services.remote.get((resource.group, resource.version))
        if service is None or self._chosen.get((resource.group, resource.plural)) != resource:
            raise NotFound.generic()
        return service

    async def serves(self, resource: Resource) -> bool:
        """Report whether the server serves a resource at present. Raises StatusError when it does not answer."""
        service = self.service_of(resource)
        return any(each.plural == resource.plural for each in await self._resources(service))

    async def _asked(self) -> dict[str, str]:
        """Ask all servers; return the errors by group version. All others are known when this returns."""
        failures: dict[str, str] = {}
        limit = DeferredSemaphore(ASKED_AT_A_TIME)
        services = list(self._services.remote.values())
        asked = [limit.run(self._begin, service, failures) for service in services]
        for service, (good, result) in zip(services, await DeferredList(asked, consumeErrors=True), strict=True):
            if not good:
                failures[_shown(service)] = UNAVAILABLE
                self._log.failure("discovery of {part} failed", result, part=_shown(service))
        self._choose()
        return failures

    def _begin(self, service: ApiService, failures: dict[str, str]) -> Deferred[None]:
        return Deferred.fromCoroutine(self._ask(service, failures))

    async def _ask(self, service: ApiService, failures: dict[str, str]) -> None:
        try:
            found = await self._resources(service)
        except StatusError as error:
            failures[_shown(service)] = error.message
            return
        self._parts[service.group_version] = _Part(service=service, resources=found)

    async def _resources(self, service: ApiService) -> tuple[Resource, ...]:
        return await self._requests.ask(
            service, AskedRequest(path=service.path), lambda found: _resources(found, service)
        )

    def _choose(self) -> None:
        """Merge the versions of a resource; the kinds of all of them refer to it."""
        self._chosen, self._by_kind = {}, {}
        remote = self._services.remote
        parts = [part for key, part in self._parts.items() if key in remote]
        for part in sorted(parts, key=lambda part: _rank(remote[part.service.group_version])):
            for resource in part.resources:
                chosen = self._chosen.setdefault((resource.group, resource.plural), resource)
                self._by_kind[resource.api_version, resource.kind] = chosen

    def _changed(self, old: ApiService | None, new: ApiService | None) -> None:
        """Forget the resources of a server that has been replaced, as listener of `ApiServices.listen`."""
        if all(each is None or each.backend is None for each in (old, new)):
            return
        if old is not None and (new is None or new.backend != old.backend or new.group_version != old.group_version):
            self._parts.pop(old.group_version, None)
            self._choose()
        for changed in tuple(self._listeners):
            changed()


def _rank(service: ApiService) -> tuple[int, Any]:
    return -service.version_priority, maturity(service.version)


def _shown(service: ApiService) -> str:
    return f"{service.group}/{service.version}"


def _resources(found: Object, service: ApiService) -> tuple[Resource, ...]:
    """Return the resources of an APIResourceList, without sub-resources.

    Raises InternalError (500) for anything else.
    """
    listed = found.get("resources")
    if not isinstance(listed, list) and (listed is not None or found.get("kind") != "APIResourceList"):
        raise made(InternalError, f"discovery of {_shown(service)} returned something other than an APIResourceList")
    read = (_resource(one, service) for one in (listed or [])[:MOST_RESOURCES] if isinstance(one, dict))
    return tuple(resource for resource in read if resource is not None)


def _resource(one: Mapping[str, Any], service: ApiService) -> Resource | None:
    name, kind, verbs = one.get("name"), one.get("kind"), one.get("verbs")
    if not (isinstance(name, str) and isinstance(kind, str) and kind and isinstance(verbs, list)):
        return None
    if dns_label(name):  # a sub-resource, or not valid in a path
        return None
    return Resource(
        group=service.group,
        version=service.version,
        plural=name,
        kind=kind,
        namespaced=one.get("namespaced") is True,
        verbs=tuple(verb for verb in verbs if isinstance(verb, str)),
        remote=True,
    )
