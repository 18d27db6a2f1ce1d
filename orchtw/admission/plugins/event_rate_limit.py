"""EventRateLimit: rate limits of Events for the server, and by namespace, user or source (reference PLUG-10,
PLUG-84).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from hashlib import blake2b
from typing import Final

import msgspec

from orchtw.admission.attributes import Attributes, Operation
from orchtw.admission.configuration import Given
from orchtw.admission.configured_kinds import check_kind
from orchtw.admission.host import AdmissionHost
from orchtw.errors import ConfigError, TooManyRequests
from orchtw.outbound.fields import Fields
from orchtw.schema.catalogue import ResourceType
from orchtw.values.causes import go_quote

KIND: Final = "Configuration"
API_VERSION: Final = "eventratelimit.admission.orch.io/v1alpha1"
BUCKETS: Final = 4096
"""Default number of buckets kept for a type of limit."""

_SERVER: Final = "Server"
_MOST: Final = 2**31 - 1
_KEY_BYTES: Final = 16

KeyOf = Callable[[Attributes], str]


class Limit(msgspec.Struct, frozen=True, kw_only=True):
    """Limit of `qps` Events a second, with bursts of `burst`, for each of the last `size` keys of a type."""

    type: str
    qps: float
    burst: int
    size: int = BUCKETS


class Buckets:
    """Token buckets by key. The least recently used are dropped; a dropped key begins with a full bucket again."""

    def __init__(self, limit: Limit, seconds: Callable[[], float]) -> None:
        self._limit = limit
        self._seconds = seconds
        self._kept: dict[bytes, tuple[float, float]] = {}

    def __len__(self) -> int:
        return len(self._kept)

    def take(self, key: str) -> bool:
        """Take one token; False if the bucket is empty."""
        limit, now = self._limit, self._seconds()
        digest = _digest(key)
        tokens, since = self._kept.pop(digest, (float(limit.burst), now))
        tokens = min(float(limit.burst), tokens + (now - since) * limit.qps)
        taken = tokens >= 1
        if len(self._kept) >= limit.size:
            del self._kept[next(iter(self._kept))]
        self._kept[digest] = (tokens - taken, now)
        return taken


class EventRateLimit:
    """Plugin EventRateLimit; every limit counts every Event, even one that another limit refuses."""

    def __init__(self, limits: Sequence[Limit], seconds: Callable[[], float], events: frozenset[str]) -> None:
        self._limits = [(each.type, _KEYS[each.type], Buckets(each, seconds)) for each in limits]
        self._events = events

    @classmethod
    def of(cls, host: AdmissionHost, given: Given | None) -> EventRateLimit:
        """Return the plugin with the configured limits. Raises ConfigError."""
        group = host.naming.group("events.orch.io")
        limits = [share(each, host.processes) for each in read(given)]
        return cls(limits, host.clock.seconds, frozenset({"events", f"events.{group}"}))

    def handles(self, operation: Operation, resource: ResourceType, subresource: str) -> bool:
        """Handle creates and updates of Events, in both of their groups."""
        return operation in ("CREATE", "UPDATE") and resource.qualified in self._events

    async def validate(self, attributes: Attributes) -> None:
        """Raise TooManyRequests (429) if a limit is reached; dry runs do not count."""
        if attributes.dry_run:
            return
        reached = list(self._reached(attributes))
        if reached:
            why = reached[0] if len(reached) == 1 else f"[{', '.join(dict.fromkeys(reached))}]"
            raise TooManyRequests(f"Too many requests: {why}")

    def _reached(self, attributes: Attributes) -> Iterator[str]:
        for kind, key_of, buckets in self._limits:
            key = key_of(attributes)
            if not buckets.take(key):
                yield f"limit reached on type {kind} for key {key}"


def share(limit: Limit, processes: int) -> Limit:
    """Return the limit of one of the server's processes.

    Only type Server is divided: Events with another key mostly come over one connection, and so to one process.
    """
    if limit.type != _SERVER:
        return limit
    return msgspec.structs.replace(limit, qps=limit.qps / processes, burst=-(-limit.burst // processes))


def _source_and_object(attributes: Attributes) -> str:
    """Return the key of an Event of either group: its source and its object."""
    event = attributes.obj or {}
    source = event.get("source") or event.get("deprecatedSource") or {}
    about = event.get("involvedObject") or event.get("regarding") or {}
    names = ("kind", "namespace", "name", "uid", "apiVersion")
    return "".join([source.get("component", ""), source.get("host", ""), *(about.get(each, "") for each in names)])


def _digest(key: str) -> bytes:
    """Return a digest of a key, since clients choose its length."""
    return blake2b(key.encode(errors="surrogatepass"), digest_size=_KEY_BYTES).digest()


_KEYS: Final[Mapping[str, KeyOf]] = {
    _SERVER: lambda attributes: "",
    "Namespace": lambda attributes: attributes.namespace,
    "User": lambda attributes: attributes.user.name,
    "SourceAndObject": _source_and_object,
}


def read(given: Given | None) -> Sequence[Limit]:
    """Return the configured limits. Raises ConfigError for a missing or invalid configuration."""
    if given is None:
        raise ConfigError("EventRateLimit: no config specified")
    file = given.fields()
    check_kind(file, KIND, API_VERSION)
    file.only("apiVersion", "kind", "limits")
    found = [_limit(each) for each in file.sections("limits")]
    if not found:
        raise file.wrong("limits", "must not be empty")
    return found


def _limit(entry: Fields) -> Limit:
    entry.only("type", "qps", "burst", "cacheSize")
    kind = entry.text("type")
    if kind not in _KEYS:
        supported = ", ".join(go_quote(each) for each in sorted(_KEYS))
        raise entry.wrong("type", f"Unsupported value: {go_quote(kind)}: supported values: {supported}")
    rates = {name: entry.integer(name) for name in ("burst", "qps")}
    for name, value in rates.items():
        if not 0 < value <= _MOST:
            raise entry.wrong(name, "must be positive" if value <= 0 else f"must be at most {_MOST}")
    size = entry.integer("cacheSize")
    if kind != _SERVER and size < 0:
        raise entry.wrong("cacheSize", "must not be negative")
    kept = 1 if kind == _SERVER else size or BUCKETS
    return Limit(type=kind, qps=rates["qps"], burst=rates["burst"], size=kept)
