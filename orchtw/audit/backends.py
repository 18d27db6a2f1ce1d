"""The backends that the flags ask for, each with its mode (reference AUDIT-11 to AUDIT-13)."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from random import Random
from typing import Any, Final

import attrs

from orchtw.audit.batches import PLUGIN, Batches, BatchSettings, Delivery
from orchtw.audit.counts import Counts
from orchtw.audit.event import json_lines
from orchtw.audit.legacy import legacy_line
from orchtw.audit.log_backend import DirectLog, Form, ThreadLog
from orchtw.audit.log_file import MEGABYTE, LogFile, LogSettings
from orchtw.audit.old_files import Keeping
from orchtw.audit.policy_file import GROUP
from orchtw.audit.shared_log_file import SharedLogFile
from orchtw.audit.sink import AuditBackend, AuditSink, Blocking, Truncating
from orchtw.audit.waiting import WaitingEvents
from orchtw.audit.webhook import DeliveryTurns, Way, WebhookBackend
from orchtw.config import Config
from orchtw.config.reloads import Reloads
from orchtw.errors import ConfigError
from orchtw.naming.names import Naming
from orchtw.outbound.caller import Caller
from orchtw.outbound.kubeconfig import load

_BATCH, _STRICT = "batch", "blocking-strict"
LOCK: Final = "audit.lock"
"""In the data folder: what the processes of one server lock to write in turn."""

_DEFAULT_MEGABYTES: Final = 100


@attrs.frozen(slots=True, kw_only=True, eq=False)
class AuditHost:
    """Services of the process to audit backends: `clock` is the reactor, `seconds` the time since the epoch."""

    naming: Naming
    clock: Any
    seconds: Callable[[], float]
    random: Random
    caller: Caller
    reloads: Reloads
    counts: Counts
    say: Callable[[str], None]

    @property
    def group(self) -> str:
        """The API group of events in the vocabulary of the server."""
        return self.naming.group(GROUP)


def sinks(host: AuditHost, config: Config) -> list[AuditSink]:
    """The log and the webhook, as far as they are asked for. Raises ConfigError for files that cannot be used."""
    found = []
    if config.audit_log_path:
        found.append(_limited(host, config, "log", _log(host, config)))
    if config.audit_webhook_config_file is not None:
        found.append(_limited(host, config, "webhook", _webhook(host, config)))
    return found


def _log(host: AuditHost, config: Config) -> AuditSink:
    settings = LogSettings(
        path=config.audit_log_path,
        max_bytes=(config.audit_log_maxsize or _DEFAULT_MEGABYTES) * MEGABYTE,
        keeping=Keeping(
            files=config.audit_log_maxbackup, days=config.audit_log_maxage, compress=config.audit_log_compress
        ),
    )
    try:
        file = _file(host, config, settings)
    except OSError as error:
        raise ConfigError(f"--audit-log-path: {config.audit_log_path}: {error.strerror}") from None
    host.reloads.add("audit log", file.reopen_later)
    form: Form = json_lines(f"{host.group}/v1")
    if config.audit_log_format == "legacy":
        form = lambda event: legacy_line(event.members)  # noqa: E731
    if config.audit_log_mode != _BATCH and file.regular:
        host.counts.waiting["log"] = lambda: 0
        return DirectLog(file, form, host.counts, strict=config.audit_log_mode == _STRICT)
    log = ThreadLog(file, form, host.counts, host.clock)
    if config.audit_log_mode != _BATCH:
        return _blocking(host, config.audit_log_mode, "log", log)
    return _batches(host, config, "log", log)


def _file(host: AuditHost, config: Config, settings: LogSettings) -> LogFile:
    """Open the log file. Raises OSError."""
    if config.workers == 1:
        return LogFile(settings, host.seconds, host.say)
    return SharedLogFile(settings, host.seconds, host.say, config.data_dir / LOCK)


def _webhook(host: AuditHost, config: Config) -> AuditSink:
    path = config.audit_webhook_config_file
    assert path is not None
    try:
        remote = load(path, host.naming, host.clock)
    except ConfigError as error:
        raise ConfigError(f"--audit-webhook-config-file: {error}") from None
    way = Way(
        caller=DeliveryTurns(host.caller),
        remote=remote,
        clock=host.clock,
        random=host.random,
        first_s=config.audit_webhook_initial_backoff_s,
    )
    webhook = WebhookBackend(way.send, f"{host.group}/v1", host.clock, host.counts)
    if config.audit_webhook_mode != _BATCH:
        return _blocking(host, config.audit_webhook_mode, "webhook", webhook)
    return _batches(host, config, "webhook", webhook)


def _blocking(host: AuditHost, mode: str, name: str, backend: AuditBackend) -> AuditSink:
    room = WaitingEvents(name, backend, host.counts)
    return Blocking(backend=backend, room=room, clock=host.clock, strict=mode == _STRICT)


def _batches(host: AuditHost, config: Config, name: str, delivery: Delivery) -> Batches:
    value = partial(_value, config, name)
    throttled = value("batch_throttle_enable")
    settings = BatchSettings(
        buffer_size=value("batch_buffer_size"),
        max_size=value("batch_max_size"),
        max_wait_s=value("batch_max_wait_s"),
        qps=value("batch_throttle_qps") if throttled else 0.0,
        burst=value("batch_throttle_burst") if throttled else 0,
        max_bytes=value("truncate_max_batch_size") if value("truncate_enabled") else 0,
    )
    return Batches(settings, host.clock, delivery, WaitingEvents(name, delivery, host.counts, plugin=PLUGIN))


def _limited(host: AuditHost, config: Config, name: str, sink: AuditSink) -> AuditSink:
    value = partial(_value, config, name)
    if not value("truncate_enabled"):
        return sink
    return Truncating(sink, value("truncate_max_event_size"), host.group, host.counts, value("mode") == _STRICT)


def _value(config: Config, name: str, setting: str) -> Any:
    return getattr(config, f"audit_{name}_{setting}")
