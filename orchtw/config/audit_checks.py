"""Validation of the audit settings (reference AUDIT-14)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from orchtw.config.audit import AuditLogOptions, AuditOptions, AuditWebhookOptions
from orchtw.naming.naming import Naming

MODES: Final = ("batch", "blocking", "blocking-strict")
FORMATS: Final = ("legacy", "json")
VERSIONS: Final = ("audit.orch.io/v1", f"{Naming.kubernetes().group('audit.orch.io')}/v1")


def audit_problems(options: AuditOptions) -> list[str]:
    """Return the problems of the audit settings, one line each."""
    problems = [*_backend_problems(options.log, "log"), *_backend_problems(options.webhook, "webhook")]
    if options.log.format not in FORMATS:
        shown = f'"{options.log.format}"'
        problems.append(f"--audit-log-format: invalid format {shown}, allowed formats are {_list(FORMATS)}")
    return problems


def _backend_problems(options: AuditLogOptions | AuditWebhookOptions, name: str) -> Iterator[str]:
    flag = f"--audit-{name}"
    if options.mode not in MODES:
        yield f'{flag}-mode: invalid mode "{options.mode}", allowed modes are {_list(MODES)}'
    if options.version not in VERSIONS:
        yield f'{flag}-version: invalid version "{options.version}", allowed versions are {_list(VERSIONS)}'
    if options.mode == "batch":
        positive = ["batch_buffer_size", "batch_max_size"]
        if options.batch_throttle_enable:
            positive += ["batch_throttle_qps", "batch_throttle_burst"]
        for setting in positive:
            if getattr(options, setting) <= 0:
                yield f"{flag}-{setting.replace('_', '-')}: must be greater than 0"
    if options.truncate_enabled:
        most, most_together = options.truncate_max_event_size, options.truncate_max_batch_size
        if most <= 0:
            yield f"{flag}-truncate-max-event-size: must be greater than 0"
        if most_together < most:
            yield f"{flag}-truncate-max-batch-size: must be not lower than the size of an event ({most})"


def _list(names: tuple[str, ...]) -> str:
    return ", ".join(names)
