"""Settings of auditing: policy, log and webhook."""

from __future__ import annotations

from pathlib import Path

from orchtw.config.about import about
from orchtw.config.subjects import options, setting, subject
from orchtw.flags.flag import BOOLEAN, DURATION, FLOAT, INTEGER, PATH, TEXT, FlagKind

VERSION = "audit.orch.io/v1"


def _about(help: str, kind: FlagKind) -> dict[str, object]:
    return about("Audit", help, kind)


@options
class AuditLogOptions:
    """Options of the audit log."""

    path: str = setting(
        default="", metadata=_about("File to append audit events to; - means standard output.", TEXT)
    )
    format: str = setting(default="json", metadata=_about("Format of the audit log: json or legacy.", TEXT))
    maxsize: int = setting(
        default=100, metadata=_about("Maximum size of the audit log in megabytes before it is rotated.", INTEGER)
    )
    maxage: int = setting(
        default=0, metadata=_about("Maximum age of rotated audit logs in days; 0 means no limit.", INTEGER)
    )
    maxbackup: int = setting(
        default=0, metadata=_about("Maximum number of rotated audit logs to keep; 0 means no limit.", INTEGER)
    )
    compress: bool = setting(default=False, metadata=_about("Compress rotated audit logs with gzip.", BOOLEAN))
    mode: str = setting(
        default="blocking",
        metadata=_about(
            "When events are written: batch (asynchronously), blocking (before the response is sent) or "
            "blocking-strict (as blocking, and a request whose first event cannot be written fails).",
            TEXT,
        ),
    )
    version: str = setting(default=VERSION, metadata=_about("API version of the events in the log.", TEXT))
    batch_buffer_size: int = setting(
        default=10000, metadata=_about("Maximum number of events that wait to be written in batch mode.", INTEGER)
    )
    batch_max_size: int = setting(default=1, metadata=_about("Maximum number of events in a batch.", INTEGER))
    batch_max_wait_s: float = setting(
        default=0.0,
        metadata=_about("Maximum time before a batch that is not full is written.", DURATION),
    )
    batch_throttle_enable: bool = setting(default=False, metadata=_about("Limit the rate of batches.", BOOLEAN))
    batch_throttle_qps: float = setting(
        default=0.0, metadata=_about("Average number of batches per second.", FLOAT)
    )
    batch_throttle_burst: int = setting(
        default=0,
        metadata=_about("Maximum number of batches at once, if the rate was below average before.", INTEGER),
    )
    truncate_enabled: bool = setting(
        default=False, metadata=_about("Drop the request and response objects of events that are too large.", BOOLEAN)
    )
    truncate_max_batch_size: int = setting(
        default=10 << 20, metadata=_about("Maximum size of a batch in bytes, if truncation is enabled.", INTEGER)
    )
    truncate_max_event_size: int = setting(
        default=100 << 10, metadata=_about("Maximum size of an event in bytes, if truncation is enabled.", INTEGER)
    )


@options
class AuditWebhookOptions:
    """Options of the audit webhook."""

    config_file: Path | None = setting(
        default=None,
        metadata=_about(
            "Client configuration (kubeconfig format) of the webhook that audit events are sent to.", PATH
        ),
    )
    mode: str = setting(
        default="batch",
        metadata=_about("When events are sent: batch, blocking or blocking-strict; see --audit-log-mode.", TEXT),
    )
    version: str = setting(default=VERSION, metadata=_about("API version of the events that are sent.", TEXT))
    initial_backoff_s: float = setting(
        default=10.0, metadata=_about("Delay before the first retry; later retries wait longer.", DURATION)
    )
    batch_buffer_size: int = setting(
        default=10000, metadata=_about("Maximum number of events that wait to be sent in batch mode.", INTEGER)
    )
    batch_max_size: int = setting(default=400, metadata=_about("Maximum number of events in a batch.", INTEGER))
    batch_max_wait_s: float = setting(
        default=30.0, metadata=_about("Maximum time before a batch that is not full is sent.", DURATION)
    )
    batch_throttle_enable: bool = setting(default=True, metadata=_about("Limit the rate of batches.", BOOLEAN))
    batch_throttle_qps: float = setting(
        default=10.0, metadata=_about("Average number of batches per second.", FLOAT)
    )
    batch_throttle_burst: int = setting(
        default=15,
        metadata=_about("Maximum number of batches at once, if the rate was below average before.", INTEGER),
    )
    truncate_enabled: bool = setting(
        default=False,
        metadata=_about("Drop the request and response objects of events that are too large.", BOOLEAN),
    )
    truncate_max_batch_size: int = setting(
        default=10 << 20, metadata=_about("Maximum size of a batch in bytes, if truncation is enabled.", INTEGER)
    )
    truncate_max_event_size: int = setting(
        default=100 << 10, metadata=_about("Maximum size of an event in bytes, if truncation is enabled.", INTEGER)
    )


@options
class AuditOptions:
    """Options of auditing: the policy, the log and the webhook."""

    policy_file: Path | None = setting(
        default=None,
        metadata=_about("Audit policy file; without it nothing is audited.", PATH),
    )
    log: AuditLogOptions = subject(AuditLogOptions, "log")
    webhook: AuditWebhookOptions = subject(AuditWebhookOptions, "webhook")
