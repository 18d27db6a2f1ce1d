"""Storage version precondition: no writes before the resource's storage version is published (reference VER-20)."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any, Final

from orchtw.bootstrap.storage_versions import STORAGE_VERSIONS, Unstated
from orchtw.errors import ServiceUnavailable
from orchtw.filters.chain import Proceed
from orchtw.filters.plan import NOTHING, Part
from orchtw.naming.naming import Naming
from orchtw.request import Request, RequestInfo, Response

_READS: Final = ("get", "list", "watch")
_LEASES: Final = ("coordination.orch.io", "leases")


class StorageVersionStage:
    """Stage that rejects writes to resources whose StorageVersion this server has not published yet.

    Publishing itself needs StorageVersions and Leases in the system namespace, so these are exempt.
    """

    def __init__(self, unstated: Unstated, naming: Naming) -> None:
        group, _, plural = STORAGE_VERSIONS
        self._unstated = unstated
        self._versions = naming.group(group), plural
        self._leases = naming.group(_LEASES[0]), _LEASES[1]
        self._system = naming.system_namespace

    def handle(self, request: Request, proceed: Proceed) -> Coroutine[Any, Any, Response]:
        """Return the response of `proceed`. Raises ServiceUnavailable (503)."""
        unstated, info = self._unstated, request.info
        if unstated.resources and info is not None and info.is_resource and info.verb not in _READS:
            self._check(info)
        return proceed(request)

    def plan(self, request: Request) -> Part | None:
        """Add nothing to reads."""
        return NOTHING if request.info is not None and request.info.verb in _READS else None

    def _check(self, info: RequestInfo) -> None:
        resource = info.group, info.resource
        exempt = resource == self._versions or (resource == self._leases and info.namespace == self._system)
        if resource in self._unstated.resources and not exempt:
            shown = ".".join(filter(None, (info.resource, info.group)))
            raise ServiceUnavailable(
                f"wait for storage version registration to complete for resource: {shown}, "
                f"last seen error: {self._unstated.why}"
            )
