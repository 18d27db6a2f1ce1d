"""Common ground of the parts of a server."""

from __future__ import annotations

from typing import Any

import attrs
from twisted.application.service import IService, MultiService

from orchtw.assembly.resources import Resources
from orchtw.assembly.service_map import service_map
from orchtw.config import Config
from orchtw.config.reloads import Reloads
from orchtw.outbound.service_map import ServiceMap


@attrs.frozen(slots=True, kw_only=True, eq=False)
class Foundation:
    """Settings, resources and services that every part is made of.

    `reactor` measures every duration: its time should be one that nobody sets (see `monotonic`). `reloads` are what
    SIGHUP reads again; `services` work in the background, from the end of the start to the beginning of the end.
    `service_map` is the administrator's word on where Services are. Raises ConfigError for a map that cannot be used.
    """

    config: Config
    resources: Resources
    reactor: Any
    reloads: Reloads = attrs.field(factory=Reloads)
    services: MultiService = attrs.field(factory=MultiService)
    service_map: ServiceMap = attrs.field(init=False)

    @service_map.default
    def _given(self) -> ServiceMap:
        return service_map(self.config.cluster, self.reactor, self.reloads, self.services)

    def join(self, service: IService) -> None:
        """Have a service start and stop with the others, in the order in which they have joined."""
        service.setServiceParent(self.services)  # type: ignore[no-untyped-call]
