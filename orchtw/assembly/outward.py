"""What leads out of the process: the dialer, the agents of nodes, and the certificates for them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from random import SystemRandom
from typing import TypeVar

from orchtw.assembly.resources import Resources
from orchtw.config import Config
from orchtw.errors import ConfigError
from orchtw.outbound.dialer import Dialer
from orchtw.outbound.tls import ClientTLS
from orchtw.pki.files import read_certificates, read_key
from orchtw.reloads import Reloads
from orchtw.rules.origins import AllowedOrigins
from orchtw.verbs.backends import Backends
from orchtw.verbs.node_agents import AgentSettings, NodeAgents
from orchtw.verbs.passing_on import Outward

T = TypeVar("T")


def outward(config: Config, resources: Resources, origins: AllowedOrigins, reloads: Reloads) -> Outward:
    """What the flags ask for. Raises ConfigError for certificates that cannot be used."""
    certificates = _Certificates(config)
    if certificates.given:
        reloads.add("certificates for node agents", certificates.read)
    settings = AgentSettings(
        scheme="https" if config.orchlet_https else "http",
        port=config.orchlet_port,
        timeout_s=config.orchlet_timeout_s,
        address_types=config.orchlet_preferred_address_types,
        tls=lambda: certificates.tls,
    )
    agents = NodeAgents(settings, resources.naming, resources.targets)
    backends = Backends(agents, resources.targets, SystemRandom())
    return Outward(dialer=Dialer(resources.clock), agents=agents, backends=backends, origins=origins)


class _Certificates:
    """The files of the flags as they were last read."""

    def __init__(self, config: Config) -> None:
        self._config = config
        self.given = bool(config.orchlet_certificate_authority or config.orchlet_client_certificate)
        self.tls = ClientTLS()
        self.read()

    def read(self) -> None:
        """Read them again. Raises ConfigError, changing nothing, when they cannot be used."""
        config = self._config
        certificate, key = config.orchlet_client_certificate, config.orchlet_client_key
        tls = ClientTLS(
            certificates=_of_flag("orchlet-client-certificate", read_certificates, certificate) or (),
            key=_of_flag("orchlet-client-key", read_key, key),
            authorities=_of_flag(
                "orchlet-certificate-authority", read_certificates, config.orchlet_certificate_authority
            )
            or (),
        )
        if self.given:
            tls.creator("localhost")
        self.tls = tls


def _of_flag(flag: str, read: Callable[[Path], T], path: Path | None) -> T | None:
    if path is None:
        return None
    try:
        return read(path)
    except ConfigError as error:
        raise ConfigError(f"--{flag}: {error}") from None
