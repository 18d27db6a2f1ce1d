"""Settings of the API server as one value, by subject (reference FLAG-1).

Each field of a subject defines a flag.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from orchtw.config.accounts import AccountOptions
from orchtw.config.admission import AdmissionOptions
from orchtw.config.audit import AuditOptions
from orchtw.config.authentication import AuthenticationOptions
from orchtw.config.authorization import AuthorizationOptions
from orchtw.config.cluster import AggregationOptions, ClusterOptions, IdentityOptions, NodeOptions
from orchtw.config.controllers import ControllerOptions
from orchtw.config.generic import GenericOptions, LogOptions
from orchtw.config.history import HistoryOptions
from orchtw.config.metrics import MetricsOptions
from orchtw.config.serving import HealthOptions, RequestOptions, ServingOptions
from orchtw.config.signing import SigningOptions
from orchtw.config.simulation import SimulationOptions
from orchtw.config.storage import StorageOptions
from orchtw.config.subjects import Setting, changed, options, replaced, settings_of, subject
from orchtw.flags.flag import PATH, PATHS
from orchtw.plugins.entry_points import NO_PLUGINS, Plugins

_LEAST_INFLIGHT_BYTES: Final = 64 << 20
"""Minimum share of `--max-inflight-bytes` of each process: an eighth of it must hold a request's body."""


@options
class Config:
    """Settings of one API server, by subject. Attributes are named after the flags; the suffix `_s` means seconds.

    `notes` are startup log lines about the given flags. `worker` is the number of this process among `--workers`: 0
    owns the store; in the others `owner_controllers` are its `controllers.names`. `plugins` are those of installed
    packages, with the values of their flags.
    """

    generic: GenericOptions = subject(GenericOptions)
    log: LogOptions = subject(LogOptions)
    serving: ServingOptions = subject(ServingOptions)
    requests: RequestOptions = subject(RequestOptions)
    health: HealthOptions = subject(HealthOptions)
    metrics: MetricsOptions = subject(MetricsOptions)
    storage: StorageOptions = subject(StorageOptions)
    identity: IdentityOptions = subject(IdentityOptions, "identity-lease")
    authn: AuthenticationOptions = subject(AuthenticationOptions)
    accounts: AccountOptions = subject(AccountOptions, "service-account")
    authz: AuthorizationOptions = subject(AuthorizationOptions, "authorization")
    admission: AdmissionOptions = subject(AdmissionOptions)
    audit: AuditOptions = subject(AuditOptions, "audit")
    cluster: ClusterOptions = subject(ClusterOptions)
    nodes: NodeOptions = subject(NodeOptions, "orchlet")
    aggregation: AggregationOptions = subject(AggregationOptions)
    controllers: ControllerOptions = subject(ControllerOptions)
    signing: SigningOptions = subject(SigningOptions, "cluster-signing")
    history: HistoryOptions = subject(HistoryOptions, "history")
    simulation: SimulationOptions = subject(SimulationOptions)
    plugins: Plugins = NO_PLUGINS
    notes: tuple[str, ...] = ()
    worker: int = 0
    owner_controllers: tuple[str, ...] = ()

    @classmethod
    def of(cls, plugins: Plugins = NO_PLUGINS, **settings: Any) -> Config:
        """Return the defaults with `settings`, named as in `changed`."""
        return cls(plugins=plugins).changed(**settings)

    def changed(self, **settings: Any) -> Config:
        """Return a copy with other `settings`, by the flags' names as keywords (`secure_port`, `idle_timeout_s`).

        Raises KeyError for an unknown name.
        """
        return changed(self, {SETTINGS[name].path: value for name, value in settings.items()})

    def for_worker(self, number: int, port: int) -> Config:
        """Return a copy for a worker process, which leaves bootstrap, controllers and leader election to the owner of
        the store.
        """
        process = replaced(self, worker=number, owner_controllers=self.controllers.names, notes=())
        return process.changed(secure_port=port, bootstrap=False, controllers=("-*",), leader_elect=False)

    def share(self) -> Config:
        """Return a copy for each of `--workers` processes, with its share of the concurrency limits (STORE-35)."""
        workers, most = self.serving.workers, self.serving.max_inflight_bytes
        return self.changed(
            max_connections=_part(self.serving.max_connections, workers),
            max_requests_inflight=_part(self.requests.max_requests_inflight, workers),
            max_mutating_requests_inflight=_part(self.requests.max_mutating_requests_inflight, workers),
            max_inflight_bytes=max(_part(most, workers), min(most, _LEAST_INFLIGHT_BYTES)),
        )

    def rooted(self, folder: Path) -> Config:
        """Return a copy with relative paths resolved against `folder`, independent of the working directory."""
        paths: dict[str, Any] = {
            name: _rooted(value, folder) for name in _PATHS if (value := SETTINGS[name].of(self)) is not None
        }
        named = tuple(each.rooted(folder) for each in self.serving.tls.sni_cert_key)
        values = {name: _rooted(value, folder) for name, value in self.plugins.values.items()}
        return replaced(
            self.changed(**paths, tls_sni_cert_key=named), plugins=self.plugins.with_values(values)
        )


SETTINGS: Final[Mapping[str, Setting]] = {setting.name: setting for setting in settings_of(Config)}
"""All settings that are flags, by keyword name."""

_PATHS: Final = tuple(name for name, each in SETTINGS.items() if each.field.metadata["kind"] in (PATH, PATHS))


def _part(whole: int, workers: int) -> int:
    return -(-whole // workers)


def _rooted(value: Any, folder: Path) -> Any:
    """Return the value of a flag with relative paths resolved against `folder`."""
    if isinstance(value, tuple):
        return tuple(_rooted(each, folder) for each in value)
    return folder / value if isinstance(value, Path) else value
