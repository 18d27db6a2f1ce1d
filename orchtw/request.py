"""The values that travel through the filters: Request, Response and what is known about both.

A `Request` is filled in stage by stage: the edge knows method, path, headers, body and peer; the
filters add `info` (what is asked, reference REQ-11), `authenticated` and `user` (who asks, and as whom) and
`audit_id`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from enum import Enum
from time import monotonic
from typing import Any, Final, Protocol
from urllib.parse import parse_qs

import attrs
import msgspec
from cryptography.x509 import Certificate
from twisted.logger import Logger

from orchtw.wire.objects import Object

_log = Logger()


MOST_STEPS: Final = 50
"""Steps of one request that are kept: a write that meets others again and again repeats its own."""


SHORT_BYTES: Final = 128 * 1024
"""Up to this, complete bodies are sent whatever else the server holds (see `Ending.NO_ROOM`)."""


class UnreadableCertificate:
    """Stands for a client certificate that TLS let pass and that cannot be read: a credential, and a wrong one."""


UNREADABLE: Final = UnreadableCertificate()


class Peer(msgspec.Struct, frozen=True, kw_only=True):
    """Peer of a connection.

    `certificate` is the client certificate as presented, or None. `verified` is True only if its
    chain ends in one of the configured client CAs; a stranger's certificate is presented, not verified.
    """

    address: str
    port: int
    certificate: Certificate | UnreadableCertificate | None = None
    verified: bool = False


class UserInfo(msgspec.Struct, frozen=True, kw_only=True):
    """The authenticated requester (reference AUTHN-1): name, uid, groups and extra attributes."""

    name: str
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: Mapping[str, tuple[str, ...]] = msgspec.field(default_factory=dict)


class RequestInfo(msgspec.Struct, frozen=True, kw_only=True):
    """Request info, read off method, path and query (reference REQ-4, REQ-11).

    For a non-resource request `is_resource` is False and only `verb` (the lower-case method) and `path`
    have meaning. `verb` is one of get, list, watch, create, update, patch, delete, deletecollection, proxy.
    `parts` are the path segments from the resource on. The selectors, of collections alone, are as in the query. A
    path with empty segments, which the description leaves out, is not `exact`, nor is one that looks for namespaces
    in a namespace: they lead nowhere.
    """

    is_resource: bool
    verb: str
    path: str
    prefix: str = ""
    group: str = ""
    version: str = ""
    namespace: str = ""
    resource: str = ""
    subresource: str = ""
    name: str = ""
    parts: tuple[str, ...] = ()
    exact: bool = True
    field_selector: str = ""
    label_selector: str = ""


class Decided(Protocol):
    """Decision of an authorizer about a request."""

    @property
    def allowed(self) -> bool | None:
        """True only if it may go on."""

    @property
    def reason(self) -> str:
        """Return the reason of the decision."""


class Classified(Protocol):
    """The flow that a request belongs to."""

    @property
    def names(self) -> tuple[str, str]:
        """Those of its priority level and of its flow schema."""


class Occupied(Protocol):
    """Seats that a request occupies while it is served."""

    @property
    def limited(self) -> bool:
        """Report whether the level is limited."""

    @property
    def seats(self) -> int:
        """Return the number of seats."""

    @property
    def linger_s(self) -> float:
        """For how long beyond its end."""

    @property
    def age_s(self) -> float:
        """For how long by now, until its end."""


class ChosenFault(Protocol):
    """Fault on demand that a rule has chosen for a request."""

    @property
    def rule(self) -> str:
        """Return the id of the rule."""

    @property
    def kind(self) -> str:
        """Return the name of the fault."""


class SameHead:
    """Header lines that requests of one connection repeat, byte for byte.

    `caller` is for the app: what it knows the sender of these lines by, once it has looked at them.
    """

    __slots__ = ("caller", "headers")

    def __init__(self, headers: Mapping[str, str]) -> None:
        self.headers = headers
        self.caller: Any = None


@attrs.define(slots=True, kw_only=True, eq=False)
class Request:
    """One HTTP request: complete head and bounded body.

    `path` is the raw path without the query, `query` the raw query string. `headers` maps lower-case
    names to values (several lines of one name joined by ", "), in which each character is a byte: see `utf8_text`.
    `repeated` has the lines of names that came more than once, where the edge knows them: see `lines`. `same_head` is
    shared by requests whose headers the edge knows to be equal.
    `warnings` become Warning headers of the answer, whatever it is; `annotations` belong to the audit event, and
    `detailed_annotations` to one that shows the request's body.
    `authenticated` is whom the credentials name; `user` is whom the request acts as, which differs from it only by
    impersonation. Both are None until authentication has passed. `passed_on` says that others answer it. `ends_at_s`
    is when its time is over, on the reactor's clock; None: it has no limit. `steps` are what has been done for it,
    and when (`time.monotonic`), for the trace of a slow one (reference OPS-26). `queued` says that it waits for its
    turn and that nothing of it has been done. `answer_headers` are put on its answer, whatever that is.
    `webhooks_s` is for how long admission webhooks have held it up; `given_up` says that the server has refused it to
    defend itself.
    `fields_unchecked` says that nothing is said of unknown fields, whatever it asks for.
    `received_s` is when it came, since the epoch, if that is asked for; `decision` what the authorizer said, and
    `on_decoded` is told of the object in its body: these three are for the audit. `flow` and `occupied` are for the
    log, where there is priority and fairness: its priority level and flow schema, and the seats that it has.
    `faults` are those that rules of `--enable-faults` have chosen for it, in the order in which they strike.
    """

    method: str
    path: str
    query: str = ""
    headers: Mapping[str, str] = attrs.field(factory=dict)
    repeated: Mapping[str, Sequence[str]] | None = None
    body: bytes = b""
    peer: Peer
    same_head: SameHead | None = None
    audit_id: str = ""
    warnings: list[str] = attrs.field(factory=list)
    annotations: dict[str, str] = attrs.field(factory=dict)
    detailed_annotations: dict[str, str] = attrs.field(factory=dict)
    info: RequestInfo | None = None
    authenticated: UserInfo | None = None
    user: UserInfo | None = None
    passed_on: bool = False
    fields_unchecked: bool = False
    steps: list[tuple[float, str]] | None = None
    queued: bool = False
    answer_headers: Sequence[tuple[str, str]] = ()
    webhooks_s: float = 0.0
    given_up: bool = False
    received_s: float = 0.0
    decision: Decided | None = None
    flow: Classified | None = None
    occupied: Occupied | None = None
    on_decoded: Callable[[Object], None] | None = None
    faults: Sequence[ChosenFault] = ()
    ends_at_s: float | None = None
    client_gone: bool = attrs.field(default=False, init=False)
    _on_leave: dict[Callable[[], None], None] | None = attrs.field(default=None, init=False)
    _params: dict[str, list[str]] | None = None

    def step(self, text: str) -> None:
        """Note that something which may take long has been done."""
        if self.steps is None:
            self.steps = []
        if len(self.steps) < MOST_STEPS:
            self.steps.append((monotonic(), text))

    @property
    def ends_with_client(self) -> bool:
        """Report whether the request ends when its client leaves: it writes nothing here, or has
        not begun.
        """
        return self.passed_on or self.queued or self.method in ("GET", "HEAD")

    def on_leave(self, tell: Callable[[], None]) -> Callable[[], None]:
        """Have `tell` called if the client leaves before it is answered; what comes back ends that."""
        if self._on_leave is None:
            self._on_leave = {}
        waiting = self._on_leave
        waiting[tell] = None
        return lambda: waiting.pop(tell, None)

    def left(self) -> None:
        """Note that the client has left."""
        self.client_gone = True
        waiting, self._on_leave = self._on_leave, None
        for tell in tuple(waiting or ()):
            tell()

    @property
    def params(self) -> dict[str, list[str]]:
        """The decoded query parameters; a parameter without a value is the empty string."""
        if self._params is None:
            self._params = parse_qs(self.query, keep_blank_values=True) if self.query else {}
        return self._params

    def lines(self, name: str) -> Sequence[str]:
        """Return the values of a header, named in lower case, one a line; none once it is removed."""
        if name not in self.headers:
            return ()
        if self.repeated is not None and name in self.repeated:
            return self.repeated[name]
        return (self.headers[name],)

    def param(self, name: str) -> str:
        """Return the first value of query parameter `name`, or the empty string."""
        values = self.params.get(name)
        return values[0] if values else ""

    def flag(self, name: str) -> bool:
        """Report whether a boolean query parameter is given, and neither `0` nor `false` (reference REQ-16)."""
        values = self.params.get(name)
        return values is not None and values[0].lower() not in ("0", "false")


class Ending(Enum):
    """Outcome of sending a response."""

    COMPLETE = "complete"
    """Everything has been handed to the transport, and it has taken most of it."""
    DEADLINE = "deadline"
    """A watch's time was over, or the answer came after its request had been answered with 504."""
    CLIENT_GONE = "client gone"
    """The client left before that."""
    ABORTED = "aborted"
    """The server gave up: the body could not be made, or the client took nothing for too long."""
    NO_ROOM = "no room"
    """Reason why a long response was replaced by a 429: there was no room for it."""


class ResponseChannel(Protocol):
    """Channel that a streaming body writes to, after the response's head has been sent."""

    def write(self, framed: bytes) -> None:
        """Send one or more HTTP chunks, already framed by `chunk`; may pause the producer before it returns."""

    def write_pieces(self, pieces: Sequence[bytes]) -> None:
        """Send one HTTP chunk of these contents, not framed yet and not copied; may pause the producer."""

    def registerProducer(self, producer: Any, streaming: bool) -> None:
        """Ask for pauseProducing and resumeProducing as the transport's buffer fills and drains."""

    def finish(self, ending: Ending = Ending.COMPLETE) -> None:
        """End the body in order; the connection goes on to its next request. Unregisters the producer.

        `ending` is what the response's listeners are told.
        """

    def abort(self) -> None:
        """Drop the connection at once: the body cannot be completed."""

    def reset(self) -> None:
        """Reset the connection and all that it carries, behind the bytes that it takes at once."""


class StreamBody(Protocol):
    """A body that is produced over time, such as a watch."""

    def start(self, channel: ResponseChannel) -> None:
        """Start: the head is on its way, and writes may follow."""

    def connection_lost(self) -> None:
        """Stop: the client is gone, and nothing may be written any more. Not called after `finish` or `abort`."""


class Upgrade(Protocol):
    """Takes a connection over once a 101 has been written."""

    def __call__(self, transport: Any, received: bytes, response: Response, edge: Any) -> None:
        """Speak another protocol on `transport`; `received` came behind the request.

        The response's stream is not started yet; the new protocol calls `response.end` once. It joins the channels
        of `edge`, what a listener's connections share (`serving.edge.Edge`), and counts as a request there until it
        ends.
        """


class MarkedPieces(Sequence[bytes], ABC):
    """Body in pieces of which some are also in other bodies."""

    @abstractmethod
    def mark(self, index: int) -> bytes | None:
        """Return what only equal pieces share, in responses of one identity; None: nothing."""


@attrs.define(slots=True, kw_only=True, eq=False)
class Response:
    """Response for the edge to send: a status code, headers and one kind of body.

    `body` is complete bytes or a sequence of pieces, which are asked for one by one and sent with
    backpressure, so a long list never lies in memory as a whole; `length` is the size in bytes of such a
    sequence (None: the edge adds the pieces up). Responses of one `identity` that is not None have equal pieces where
    their marks are equal, so that what was compressed for one serves the others. `parts`, in place of `body`, are
    made one by one as they are sent and have no length that is known before: they go out in chunks. `stream` is a
    body that comes over time, sent in chunks, or what another protocol carries: `upgrade` takes the connection over
    after a 101. A `patient` stream is read by people, who may stop for a while. Behind the `last` answer the
    connection closes.

    `on_end` registers a callback for the end of the response; the edge calls `end` when it has sent or dropped it.
    `lines` are content type and headers of a 200 as lines of a head, where they are at hand.
    """

    code: int = 200
    content_type: str = ""
    body: bytes | Sequence[bytes] = b""
    length: int | None = None
    identity: Hashable = None
    parts: Iterator[bytes] | None = None
    headers: list[tuple[str, str]] = attrs.field(factory=list)
    lines: str = ""
    stream: StreamBody | None = None
    patient: bool = False
    last: bool = False
    upgrade: Upgrade | None = None
    # None rather than an empty list: almost no answer has listeners, and the edge looks at each.
    listeners: list[Callable[[Ending], None]] | None = attrs.field(default=None, init=False)

    def on_end(self, tell: Callable[[Ending], None]) -> None:
        """Have `tell` called once, when the answer has been sent or is known to be lost."""
        if self.listeners is None:
            self.listeners = []
        self.listeners.append(tell)

    def end(self, ending: Ending) -> None:
        """Tell the listeners; only the first call does. A listener that fails is logged, the others are told."""
        listeners, self.listeners = self.listeners, None
        tell(listeners or (), ending)

    def drop(self, ending: Ending) -> None:
        """Let go of an answer that will not be sent: its stream, if it has one, is told, and so are the listeners."""
        if self.stream is not None:
            try:
                self.stream.connection_lost()
            except Exception:
                _log.failure("a stream failed after its client disconnected")
        self.end(ending)


def is_short(response: Response) -> bool:
    """Report whether a response is sent as it is: complete, and short enough to always have room."""
    size = len(response.body) if type(response.body) is bytes else response.length
    return size is not None and size <= SHORT_BYTES and response.stream is None and response.parts is None


def tell(listeners: Iterable[Callable[[Ending], None]], ending: Ending) -> None:
    """Tell the listeners of an answer, which nobody else tells; one that fails is logged, the others are told."""
    for listener in listeners:
        try:
            listener(ending)
        except Exception:
            _log.failure("a response-end listener failed")


def utf8_text(header: str, errors: str = "replace") -> str:
    """Return the text of a header's value, whose characters are bytes; `errors` is the handling of other
    bytes than UTF-8.
    """
    return header if header.isascii() else header.encode("latin-1").decode("utf-8", errors)


def chunk(data: bytes) -> bytes:
    """Frame `data` as one HTTP/1.1 chunk."""
    return b"%x\r\n%b\r\n" % (len(data), data)


def chunks(pieces: Iterable[bytes]) -> bytes:
    """Join `pieces` and frame them as one HTTP/1.1 chunk."""
    return chunk(b"".join(pieces))
