"""Audit backends as the flags configure them, each in its mode (reference AUDIT-11 to AUDIT-13)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any, Final

import msgspec

from orchtw.audit.batches import PLUGIN, Batches, BatchSettings, Delivery
from orchtw.audit.buffer import WaitingEvents
from orchtw.audit.counts import Counts
from orchtw.audit.event import json_lines
from orchtw.audit.legacy import legacy_line
from orchtw.audit.log import DirectLog, Form, ThreadLog
from orchtw.audit.log_file import MEGABYTE, LogFile, LogSettings
from orchtw.audit.old_files import Keeping
from orchtw.audit.policy_file import GROUP
from orchtw.audit.shared_log_file import SharedLogFile
from orchtw.audit.sink import AuditBackend, AuditSink, Blocking, Truncating
from orchtw.audit.webhook import LimitedCaller, WebhookBackend, WebhookSender
from orchtw.config.audit import AuditLogOptions, AuditOptions, AuditWebhookOptions
from orchtw.config.reloads import Reloads
from orchtw.errors import ConfigError
from orchtw.naming.naming import Naming
from orchtw.outbound.caller import Caller
from orchtw.outbound.kubeconfig import load

_BATCH, _STRICT = "batch", "blocking-strict"
_DEFAULT_MEGABYTES: Final = 100

_Backend = AuditLogOptions | AuditWebhookOptions


class AuditHost(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """Services of the process to audit backends: `clock` is the reactor, `seconds` the time since the epoch.

    `lock` is the file that the processes of one server lock to write to one log; None if there is only one process.
    """

    naming: Naming
    clock: Any
    seconds: Callable[[], float]
    random: Random
    caller: Caller
    reloads: Reloads
    counts: Counts
    say: Callable[[str], None]
    lock: Path | None = None

    @property
    def group(self) -> str:
        """Return the API group of events in the vocabulary of the server."""
        return self.naming.group(GROUP)


def sinks(host: AuditHost, options: AuditOptions) -> list[AuditSink]:
    """Return the sinks of the configured backends. Raises ConfigError for files that cannot be used."""
    found = []
    if options.log.path:
        found.append(_limited(host, options.log, _log(host, options.log)))
    if options.webhook.config_file is not None:
        found.append(_limited(host, options.webhook, _webhook(host, options.webhook)))
    return found


def _log(host: AuditHost, options: AuditLogOptions) -> AuditSink:
    settings = LogSettings(
        path=options.path,
        max_bytes=(options.maxsize or _DEFAULT_MEGABYTES) * MEGABYTE,
        keeping=Keeping(
            files=options.maxbackup, days=options.maxage, compress=options.compress
        ),
    )
    try:
        file = _file(host, settings)
    except OSError as error:
        raise ConfigError(f"--audit-log-path: {options.path}: {error.strerror}") from None
    host.reloads.add("audit log", file.reopen_later)
    form: Form = json_lines(f"{host.group}/v1")
    if options.format == "legacy":
        form = lambda event: legacy_line(event.members)  # noqa: E731
    if options.mode != _BATCH and file.regular:
        host.counts.waiting["log"] = lambda: 0
        return DirectLog(file, form, host.counts, strict=options.mode == _STRICT)
    log = ThreadLog(file, form, host.counts, host.clock)
    if options.mode != _BATCH:
        return _blocking(host, options.mode, "log", log)
    return _batches(host, options, "log", log)


def _file(host: AuditHost, settings: LogSettings) -> LogFile:
    """Open the log file. Raises OSError."""
    if host.lock is None:
        return LogFile(settings, host.seconds, host.say)
    return SharedLogFile(settings, host.seconds, host.say, host.lock)


def _webhook(host: AuditHost, options: AuditWebhookOptions) -> AuditSink:
    path = options.config_file
    assert path is not None
    try:
        remote = load(path, host.naming, host.clock)
    except ConfigError as error:
        raise ConfigError(f"--audit-webhook-config-file: {error}") from None
    sender = WebhookSender(
        caller=LimitedCaller(host.caller),
        remote=remote,
        clock=host.clock,
        random=host.random,
        first_s=options.initial_backoff_s,
    )
    webhook = WebhookBackend(sender.send, f"{host.group}/v1", host.clock, host.counts)
    if options.mode != _BATCH:
        return _blocking(host, options.mode, "webhook", webhook)
    return _batches(host, options, "webhook", webhook)


def _blocking(host: AuditHost, mode: str, name: str, backend: AuditBackend) -> AuditSink:
    room = WaitingEvents(name, backend, host.counts)
    return Blocking(backend=backend, room=room, clock=host.clock, strict=mode == _STRICT)


def _batches(host: AuditHost, options: _Backend, name: str, delivery: Delivery) -> Batches:
    throttled = options.batch_throttle_enable
    settings = BatchSettings(
        buffer_size=options.batch_buffer_size,
        max_size=options.batch_max_size,
        max_wait_s=options.batch_max_wait_s,
        qps=options.batch_throttle_qps if throttled else 0.0,
        burst=options.batch_throttle_burst if throttled else 0,
        max_bytes=options.truncate_max_batch_size if options.truncate_enabled else 0,
    )
    return Batches(settings, host.clock, delivery, WaitingEvents(name, delivery, host.counts, plugin=PLUGIN))


def _limited(host: AuditHost, options: _Backend, sink: AuditSink) -> AuditSink:
    if not options.truncate_enabled:
        return sink
    return Truncating(sink, options.truncate_max_event_size, host.group, host.counts, options.mode == _STRICT)
