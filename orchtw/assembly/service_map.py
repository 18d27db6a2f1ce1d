"""The service map of the flags, and the file of it that is read again when it changes."""

from __future__ import annotations

from typing import Final

from twisted.application.service import MultiService
from twisted.internet.interfaces import IReactorTime

from orchtw.config.cluster import ClusterOptions
from orchtw.config.reloads import Reloads
from orchtw.config.service_map import read_mappings
from orchtw.errors import ConfigError
from orchtw.outbound.service_map import ServiceMap
from orchtw.pki.followed_files import FollowedFiles

INTERVAL_S: Final = 1.0
"""Interval at which the file is checked, beside the checks at each call: APIServices wait for their next one."""

_FLAG: Final = "service-map-file"


def service_map(
    options: ClusterOptions, reactor: IReactorTime, reloads: Reloads, services: MultiService
) -> ServiceMap:
    """Return the map that the flags give. Raises ConfigError for a file that cannot be used."""
    given, path = options.service_map, options.service_map_file
    if path is None:
        return ServiceMap(given)

    def read() -> None:
        try:
            made.replace(read_mappings(path))
        except ConfigError as error:
            raise ConfigError(f"--{_FLAG}: {error}") from None

    followed = FollowedFiles(_FLAG, [path], read, reactor, INTERVAL_S)
    made = ServiceMap(given, followed.look)
    read()
    followed.setServiceParent(services)  # type: ignore[no-untyped-call]
    reloads.add("service map", followed.read)
    return made
