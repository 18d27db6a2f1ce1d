"""Validation of the audit settings (reference AUDIT-14)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from orchtw.config.settings import Config
from orchtw.naming.names import Naming

MODES: Final = ("batch", "blocking", "blocking-strict")
FORMATS: Final = ("legacy", "json")
VERSIONS: Final = ("audit.orch.io/v1", f"{Naming.kubernetes().group('audit.orch.io')}/v1")


def audit_problems(config: Config) -> list[str]:
    """Return the problems of the audit settings, a line each."""
    problems = [*_backend_problems(config, "log"), *_backend_problems(config, "webhook")]
    if config.audit_log_format not in FORMATS:
        shown = f'"{config.audit_log_format}"'
        problems.append(f"--audit-log-format: invalid format {shown}, allowed formats are {_list(FORMATS)}")
    return problems


def _backend_problems(config: Config, name: str) -> Iterator[str]:
    def value(setting: str) -> Any:
        return getattr(config, f"audit_{name}_{setting}")

    flag = f"--audit-{name}"
    if value("mode") not in MODES:
        yield f'{flag}-mode: invalid mode "{value("mode")}", allowed modes are {_list(MODES)}'
    if value("version") not in VERSIONS:
        yield f'{flag}-version: invalid version "{value("version")}", allowed versions are {_list(VERSIONS)}'
    if value("mode") == "batch":
        positive = ["batch_buffer_size", "batch_max_size"]
        if value("batch_throttle_enable"):
            positive += ["batch_throttle_qps", "batch_throttle_burst"]
        for setting in positive:
            if value(setting) <= 0:
                yield f"{flag}-{setting.replace('_', '-')}: must be greater than 0"
    if value("truncate_enabled"):
        most, most_together = value("truncate_max_event_size"), value("truncate_max_batch_size")
        if most <= 0:
            yield f"{flag}-truncate-max-event-size: must be greater than 0"
        if most_together < most:
            yield f"{flag}-truncate-max-batch-size: must be not lower than the size of an event ({most})"


def _list(names: tuple[str, ...]) -> str:
    return ", ".join(names)
