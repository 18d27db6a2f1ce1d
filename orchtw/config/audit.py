"""Settings of audit: policy, log and webhook."""

from __future__ import annotations

from pathlib import Path

import attrs

from orchtw.config.about import about
from orchtw.flags.flag import BOOLEAN, DURATION, FLOAT, INTEGER, PATH, TEXT, FlagKind

VERSION = "audit.orch.io/v1"


def _about(help: str, kind: FlagKind) -> dict[str, object]:
    return about("Audit", help, kind)


@attrs.frozen(slots=False, kw_only=True)
class Audit:
    """The settings of audit."""

    audit_policy_file: Path | None = attrs.field(
        default=None,
        metadata=_about("Policy that says which requests are audited and how closely; without it none is.", PATH),
    )

    audit_log_path: str = attrs.field(
        default="", metadata=_about("File that audit events are appended to; - is standard output.", TEXT)
    )
    audit_log_format: str = attrs.field(
        default="json", metadata=_about("Form of the log's lines: json or legacy.", TEXT)
    )
    audit_log_maxsize: int = attrs.field(
        default=100, metadata=_about("Megabytes after which the log begins a new file.", INTEGER)
    )
    audit_log_maxage: int = attrs.field(
        default=0, metadata=_about("Days for which the log's old files are kept; 0: for ever.", INTEGER)
    )
    audit_log_maxbackup: int = attrs.field(
        default=0, metadata=_about("Old files of the log that are kept; 0: all.", INTEGER)
    )
    audit_log_compress: bool = attrs.field(
        default=False, metadata=_about("Compress the log's old files with gzip.", BOOLEAN)
    )
    audit_log_mode: str = attrs.field(
        default="blocking",
        metadata=_about(
            "When the log is written: batch (soon), blocking (before the request goes on) or blocking-strict (and "
            "a request whose first event cannot be written fails).",
            TEXT,
        ),
    )
    audit_log_version: str = attrs.field(
        default=VERSION, metadata=_about("API version of the log's events.", TEXT)
    )
    audit_log_batch_buffer_size: int = attrs.field(
        default=10000, metadata=_about("Events that may wait for the log in mode batch.", INTEGER)
    )
    audit_log_batch_max_size: int = attrs.field(
        default=1, metadata=_about("Most events of a batch for the log.", INTEGER)
    )
    audit_log_batch_max_wait_s: float = attrs.field(
        default=0.0,
        metadata=_about("Time after which a batch for the log is written though it is not full.", DURATION),
    )
    audit_log_batch_throttle_enable: bool = attrs.field(
        default=False, metadata=_about("Bound the rate of the log's batches.", BOOLEAN)
    )
    audit_log_batch_throttle_qps: float = attrs.field(
        default=0.0, metadata=_about("Batches for the log per second, in the long run.", FLOAT)
    )
    audit_log_batch_throttle_burst: int = attrs.field(
        default=0, metadata=_about("Batches for the log that may come at once.", INTEGER)
    )
    audit_log_truncate_enabled: bool = attrs.field(
        default=False, metadata=_about("Leave the objects out of events that are too large for the log.", BOOLEAN)
    )
    audit_log_truncate_max_batch_size: int = attrs.field(
        default=10 << 20, metadata=_about("Most bytes of a batch for the log, if it truncates.", INTEGER)
    )
    audit_log_truncate_max_event_size: int = attrs.field(
        default=100 << 10, metadata=_about("Most bytes of an event for the log, if it truncates.", INTEGER)
    )

    audit_webhook_config_file: Path | None = attrs.field(
        default=None,
        metadata=_about("Client configuration (kubeconfig) of the server that audit events are sent to.", PATH),
    )
    audit_webhook_mode: str = attrs.field(
        default="batch",
        metadata=_about("When events are sent: batch, blocking or blocking-strict, as for the log.", TEXT),
    )
    audit_webhook_version: str = attrs.field(
        default=VERSION, metadata=_about("API version of the events that are sent.", TEXT)
    )
    audit_webhook_initial_backoff_s: float = attrs.field(
        default=10.0, metadata=_about("Time before the first further try; each later one takes longer.", DURATION)
    )
    audit_webhook_batch_buffer_size: int = attrs.field(
        default=10000, metadata=_about("Events that may wait to be sent in mode batch.", INTEGER)
    )
    audit_webhook_batch_max_size: int = attrs.field(
        default=400, metadata=_about("Most events of a batch that is sent.", INTEGER)
    )
    audit_webhook_batch_max_wait_s: float = attrs.field(
        default=30.0, metadata=_about("Time after which a batch is sent though it is not full.", DURATION)
    )
    audit_webhook_batch_throttle_enable: bool = attrs.field(
        default=True, metadata=_about("Bound the rate of batches that are sent.", BOOLEAN)
    )
    audit_webhook_batch_throttle_qps: float = attrs.field(
        default=10.0, metadata=_about("Batches that are sent per second, in the long run.", FLOAT)
    )
    audit_webhook_batch_throttle_burst: int = attrs.field(
        default=15, metadata=_about("Batches that may be sent at once.", INTEGER)
    )
    audit_webhook_truncate_enabled: bool = attrs.field(
        default=False,
        metadata=_about("Leave the objects out of events that are too large to be sent.", BOOLEAN),
    )
    audit_webhook_truncate_max_batch_size: int = attrs.field(
        default=10 << 20, metadata=_about("Most bytes of a batch that is sent, if it truncates.", INTEGER)
    )
    audit_webhook_truncate_max_event_size: int = attrs.field(
        default=100 << 10, metadata=_about("Most bytes of an event that is sent, if it truncates.", INTEGER)
    )
