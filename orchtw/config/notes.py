"""Flags of the release that mean nothing here, or will not for long: they are taken, and the log says so
(reference FLAG-14, FLAG-15).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from orchtw.flags import BOOLEAN, DURATION, INTEGER, LIST, PATH, TEXT, Flag, Kind

SECTION: Final = "Without effect"

_MEMORY: Final = "All objects are kept at hand."
_OWN_STORE: Final = "The store looks after that itself."

_LOG_FILES: Final = "The log goes to standard error, or where twistd's --logfile or --syslog says."
_LOG_FORM: Final = "The form of lines is that of --logging-format."
_NO_CLOUD: Final = "There are no cloud controllers."

_WITHOUT_EFFECT: Final[tuple[tuple[str, Kind, Any, str], ...]] = (
    ("permit-address-sharing", BOOLEAN, False, "That is always so."),
    ("contention-profiling", BOOLEAN, False, "There is one thread that matters."),
    ("watch-cache", BOOLEAN, True, _MEMORY),
    ("watch-cache-sizes", LIST, (), _MEMORY),
    ("default-watch-cache-size", INTEGER, 100, _MEMORY),
    ("delete-collection-workers", INTEGER, 1, "Objects are deleted one after the other, without waiting."),
    ("storage-media-type", TEXT, "application/vnd.orch.protobuf", _OWN_STORE),
    ("etcd-count-metric-poll-period", DURATION, 60.0, "Objects are counted as they come and go."),
    ("aggregator-reject-forwarding-redirect", BOOLEAN, True, "Redirects of aggregated servers are always refused."),
    ("max-connection-bytes-per-sec", INTEGER, 0, "Connections to node agents and backends take what both sides can."),
    ("use-service-account-credentials", BOOLEAN, False, "Controllers that run inside have users of their own."),
    ("logtostderr", BOOLEAN, True, _LOG_FILES),
    ("alsologtostderr", BOOLEAN, False, _LOG_FILES),
    ("log-dir", PATH, None, _LOG_FILES),
    ("log-file", PATH, None, _LOG_FILES),
    ("log-file-max-size", INTEGER, 1800, _LOG_FILES),
    ("log-flush-frequency", DURATION, 5.0, "Every line is written at once."),
    ("stderrthreshold", TEXT, "2", _LOG_FILES),
    ("one-output", BOOLEAN, False, _LOG_FILES),
    ("add-dir-header", BOOLEAN, False, _LOG_FORM),
    ("skip-headers", BOOLEAN, False, _LOG_FORM),
    ("skip-log-headers", BOOLEAN, False, _LOG_FORM),
    ("log-backtrace-at", TEXT, ":0", "A traceback is logged with every fault of the server."),
    ("log-json-info-buffer-size", TEXT, "0", _LOG_FORM),
    ("log-json-split-stream", BOOLEAN, False, _LOG_FORM),
    ("cloud-provider", TEXT, "", _NO_CLOUD),
    ("cloud-config", PATH, None, _NO_CLOUD),
    ("cloud-provider-gce-l7lb-src-cidrs", LIST, ("130.211.0.0/22", "35.191.0.0/16"), _NO_CLOUD),
    (
        "cloud-provider-gce-lb-src-cidrs",
        LIST,
        ("130.211.0.0/22", "209.85.152.0/22", "209.85.204.0/22", "35.191.0.0/16"),
        _NO_CLOUD,
    ),
    ("kubernetes-service-node-port", INTEGER, 0, "The server's own Service has a cluster IP only."),
    ("orchlet-read-only-port", INTEGER, 10255, "Node agents are asked by HTTPS only."),
    ("master-service-namespace", TEXT, "default", "The server's own Service is in the namespace default."),
)
_DEPRECATED: Final = {
    "admission-control": "Use --enable-admission-plugins or --disable-admission-plugins instead. "
    "Will be removed in a future version.",
    "enable-logs-handler": "This flag will be removed in a future version.",
}


def flags_without_effect() -> tuple[Flag, ...]:
    """They are in `--help`, with the release's defaults and what stands in their place."""
    return tuple(
        Flag(name=name, kind=kind, default=default, help=why, section=SECTION)
        for name, kind, default, why in _WITHOUT_EFFECT
    )


def notes_on(given: Iterable[str]) -> tuple[str, ...]:
    """What the log says at the start of the flags that were given."""
    names = set(given)
    return (
        *(f"Flag --{name} has no effect: {why}" for name, _, _, why in _WITHOUT_EFFECT if name in names),
        *(f"Flag --{name} has been deprecated, {why}" for name, why in _DEPRECATED.items() if name in names),
    )
