"""Flags of the release without effect here: accepted with the release's kinds and defaults, or refused where ignoring
them would be misleading (reference FLAG-14).
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Sequence
from typing import Any, Final

from orchtw.flags.flag import BOOLEAN, DURATION, INTEGER, LIST, PATH, TEXT, FlagKind, split_list
from orchtw.values.quantity import Quantity

SECTION: Final = "Without effect"

_PLACE: Final = re.compile(r"[^:]*:\d{1,9}", re.ASCII)
_SEVERITIES: Final = ("INFO", "WARNING", "ERROR", "FATAL")


def _severity(texts: Sequence[str]) -> int:
    text = texts[-1]
    if text.upper() in _SEVERITIES:
        return _SEVERITIES.index(text.upper())
    if text not in ("0", "1", "2", "3"):
        raise ValueError("must be a severity: INFO, WARNING, ERROR or FATAL, or 0 to 3")
    return int(text)


def _place(texts: Sequence[str]) -> str:
    text = texts[-1]
    if text and not _PLACE.fullmatch(text):
        raise ValueError("expect file.go:234")
    return text


def _quantity(texts: Sequence[str]) -> str:
    Quantity.parse(texts[-1])
    return texts[-1]


def _networks(texts: Sequence[str]) -> tuple[str, ...]:
    found = split_list(texts)
    for text in found:
        if "/" not in text:
            raise ValueError(f'"{text}" has no prefix length, such as /24')
        ipaddress.ip_network(text, strict=False)
    return found


SEVERITY: Final = FlagKind("severity", _severity)
PLACE: Final = FlagKind("traceLocation", _place)
QUANTITY: Final = FlagKind("quantity", _quantity)
NETWORKS: Final = FlagKind("cidrs", _networks, ",".join)

_MEMORY: Final = "All objects are always cached."
_OWN_STORE: Final = "The store manages that itself."
_LOG_FILES: Final = "The log goes to standard error, or where twistd's --logfile or --syslog says."
_LOG_FORM: Final = "Log lines have the form of --logging-format."
_NO_CLOUD: Final = "There are no cloud controllers."

WITHOUT_EFFECT: Final[tuple[tuple[str, FlagKind, Any, str], ...]] = (
    ("permit-address-sharing", BOOLEAN, False, "It is always on."),
    ("contention-profiling", BOOLEAN, False, "Requests are served by one thread, without locks to contend for."),
    ("watch-cache", BOOLEAN, True, _MEMORY),
    ("watch-cache-sizes", LIST, (), _MEMORY),
    ("default-watch-cache-size", INTEGER, 100, _MEMORY),
    ("delete-collection-workers", INTEGER, 1, "Deletions of a collection are pipelined by a single worker."),
    ("storage-media-type", TEXT, "application/vnd.orch.protobuf", _OWN_STORE),
    ("etcd-count-metric-poll-period", DURATION, 60.0, "Objects are counted continuously."),
    (
        "aggregator-reject-forwarding-redirect",
        BOOLEAN,
        True,
        "Redirects from aggregated servers are always rejected.",
    ),
    ("max-connection-bytes-per-sec", INTEGER, 0, "Connections to node agents and backends are not throttled."),
    (
        "use-service-account-credentials",
        BOOLEAN,
        False,
        "Embedded controllers always use their own service accounts.",
    ),
    ("logtostderr", BOOLEAN, True, _LOG_FILES),
    ("alsologtostderr", BOOLEAN, False, _LOG_FILES),
    ("log-dir", PATH, None, _LOG_FILES),
    ("log-file", PATH, None, _LOG_FILES),
    ("log-file-max-size", INTEGER, 1800, _LOG_FILES),
    ("log-flush-frequency", DURATION, 5.0, "Every line is written immediately."),
    ("stderrthreshold", SEVERITY, 2, _LOG_FILES),
    ("one-output", BOOLEAN, False, _LOG_FILES),
    ("add-dir-header", BOOLEAN, False, _LOG_FORM),
    ("skip-headers", BOOLEAN, False, _LOG_FORM),
    ("skip-log-headers", BOOLEAN, False, _LOG_FORM),
    ("log-backtrace-at", PLACE, ":0", "Internal errors are always logged with a traceback."),
    ("log-json-info-buffer-size", QUANTITY, "0", _LOG_FORM),
    ("log-json-split-stream", BOOLEAN, False, _LOG_FORM),
    ("cloud-provider", TEXT, "", _NO_CLOUD),
    ("cloud-config", PATH, None, _NO_CLOUD),
    ("cloud-provider-gce-l7lb-src-cidrs", NETWORKS, ("130.211.0.0/22", "35.191.0.0/16"), _NO_CLOUD),
    (
        "cloud-provider-gce-lb-src-cidrs",
        NETWORKS,
        ("130.211.0.0/22", "209.85.152.0/22", "209.85.204.0/22", "35.191.0.0/16"),
        _NO_CLOUD,
    ),
    ("azure-container-registry-config", PATH, None, _NO_CLOUD),
    ("orch-service-node-port", INTEGER, 0, "The server's own Service has a cluster IP only."),
    ("orchlet-read-only-port", INTEGER, 10255, "Node agents are contacted by HTTPS only."),
    ("master-service-namespace", TEXT, "default", "The server's own Service is in the namespace default."),
    ("tracing-config-file", PATH, None, "No traces are exported."),
)
"""Name (in vocabulary `orch`), kind, the release's default, and the behaviour here."""

REFUSED: Final[tuple[tuple[str, FlagKind, Any, str], ...]] = (
    (
        "egress-selector-config-file",
        PATH,
        None,
        "not supported: connections to nodes, webhooks and etcd would bypass the proxies that it names",
    ),
)
"""Unsupported flags that promise a protection, in the same form: only the default is accepted."""
