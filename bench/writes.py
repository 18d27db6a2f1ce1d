"""Writes as clusters have them: updates of one field, and creates of objects like and unlike the last one."""

from __future__ import annotations

import re
from collections.abc import Callable

import orjson

from bench.bodies import numbered
from bench.closed_loop import Done, Make
from bench.custom import PLURAL
from bench.http1 import JSON, Answer, BenchError, Connection
from bench.objects import APPLY, APPLY_QUERY
from bench.session import Bench
from bench.subjects import CORE

MERGE = "application/merge-patch+json"

_STATUS_MARK = b"seen "
_NUMBER, _IMAGE = re.compile(b'(/seq":").{8}'), re.compile(b"(/frontend:).{5}")
_PADDING = re.compile(b'(/text-[0-9]+":").{8}')
_SHARES = {1: (0, False), 30: (0.5, False), 60: (1, False), 95: (1, True)}
"""Fraction of the padding annotations that an update of a 6 KiB Pod changes, and whether an image changes too, by the
percentage of the Pod that lies in what changes: annotations, each by itself, and the spec.
"""
_TIME = "2026-01-01T00:%02d:%02d.%06dZ"

Case = Callable[[str], tuple[Make, Done | None]]
"""A case: for a tag that its names have, its requests, and what it does with each response."""


def writes(bench: Bench) -> None:
    """Measure the wanted cases at each concurrency, or those of the custom kind; workers have objects of their own.

    `like` are objects that differ from the last one in names and one annotation, `token` are such Pods with the token
    of their account, whose volume has a name of its own in each, and `unlike` objects that share no text with it.
    """
    options = bench.options
    path = bench.namespace()
    updates = _Updates(bench, path, max(options.conc))
    cases: dict[str, Case] = {
        "write_pod_status": lambda tag: updates.status("pods"),
        "write_pod_label": lambda tag: updates.label(),
        "write_pod_apply_change": lambda tag: updates.apply(changes=True),
        "write_pod_apply_same": lambda tag: updates.apply(changes=False),
        **{
            f"write_pod_share_{share}": updates.sharing(texts, image)
            for share, (texts, image) in _SHARES.items()
        },
        "write_lease": lambda tag: updates.lease(),
        "write_event": lambda tag: updates.event(),
        "write_pod_like": lambda tag: _like(bench, path, "pods", tag),
        "write_pod_token": lambda tag: _with_token(bench, path, tag),
        "write_pod_unlike": lambda tag: _unlike(bench, path, "pods", tag),
        "write_configmap_unlike": lambda tag: _unlike(bench, path, "configmaps", tag),
    }
    if PLURAL in bench.kinds:
        cases = {
            "write_widget_like": lambda tag: _like(bench, path, PLURAL, tag),
            "write_widget_status": lambda tag: updates.status(PLURAL),
        }
    for name, case in cases.items():
        if not options.wants(name):
            continue
        for workers in options.conc:
            make, done = case(f"w{workers}")
            bench.measure(name, workers, make, count=options.n_create, done=done)


def _like(bench: Bench, path: str, plural: str, tag: str) -> tuple[Make, None]:
    subject = bench.subject(plural)
    return bench.creating(subject.within(path), subject, f"like-{tag}"), None


def _with_token(bench: Bench, path: str, tag: str) -> tuple[Make, None]:
    """Return creates of Pods that leave it to their account whether they get a token."""
    subject, endpoint = bench.subject("pods"), bench.endpoint
    collection = subject.within(path)
    obj = orjson.loads(subject.template.render("@NAME@", 0))
    del obj["spec"]["automountServiceAccountToken"]
    body = orjson.dumps(obj)

    def make(worker: int, number: int) -> bytes:
        text = body.replace(b"@NAME@", numbered(f"token-{tag}", number).encode())
        return endpoint.request("POST", collection, JSON, JSON, text)

    return make, None


def _unlike(bench: Bench, path: str, plural: str, tag: str) -> tuple[Make, None]:
    """Return creates in whose bodies every value that may hold any text ends with the number."""
    subject, endpoint = bench.subject(plural), bench.endpoint
    collection = subject.within(path)
    obj = orjson.loads(subject.template.render("@NAME@", 0))
    body = orjson.dumps(varied(obj))

    def make(worker: int, number: int) -> bytes:
        text = body.replace(b"@NAME@", numbered(f"unlike-{tag}", number).encode())
        return endpoint.request("POST", collection, JSON, JSON, text.replace(b"@N@", b"%06d" % number))

    return make, None


_FREE = frozenset({"image", "args", "command", "value", "data", "labels", "annotations", "path", "mountPath"})


def varied(value: object, free: bool = False) -> object:
    """Return a copy of an object whose free texts end with a mark, here and in all parts."""
    if type(value) is dict:
        return {key: varied(part, free or key in _FREE) for key, part in value.items()}
    if type(value) is list:
        return [varied(part, free) for part in value]
    return f"{value}-@N@" if free and type(value) is str and value else value


class _Updates:
    """Updates of objects that exist, one of each kind for each worker."""

    def __init__(self, bench: Bench, path: str, workers: int) -> None:
        self._bench = bench
        self._endpoint = bench.endpoint
        self._path = path
        self._workers = workers
        self._known: dict[str, list[bytes]] = {}
        self._filled: set[str] = set()

    def status(self, plural: str) -> tuple[Make, Done]:
        """Return PUTs of the object as last answered, with another message in a condition."""
        collection = self._collection(plural)
        if plural not in self._known:
            self._known[plural] = [self._with_status(collection, worker) for worker in range(self._workers)]
        bodies = self._known[plural]

        def make(worker: int, number: int) -> bytes:
            where = f"{collection}/{numbered('own', worker)}/status"
            head, mark, rest = bodies[worker].partition(_STATUS_MARK)
            return self._endpoint.request("PUT", where, JSON, JSON, head + mark + b"%08d" % number + rest[8:])

        def done(worker: int, number: int, answer: Answer) -> None:
            bodies[worker] = answer.content

        return make, done

    def _with_status(self, collection: str, worker: int) -> bytes:
        """Return an object with a status, as stored."""
        where = f"{collection}/{numbered('own', worker)}"
        obj = orjson.loads(self._call("GET", where))
        ready = {"type": "Ready", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z", "reason": "Seen"}
        obj["status"] = {
            "phase": "Running",
            "conditions": [{**ready, "message": "seen 00000000"}, {**ready, "type": "Scheduled", "message": ""}],
        }
        return self._call("PUT", f"{where}/status", orjson.dumps(obj))

    def sharing(self, texts: float, image: bool) -> Case:
        """Return the case of `share` with these changes."""
        return lambda tag: self.share(texts, image)

    def share(self, texts: float, image: bool) -> tuple[Make, Done]:
        """Return PUTs of Pods as last answered, with other annotations: a number, and a fraction of the padding; and
        with another image, if wanted.
        """
        collection = self._collection("pods")
        paths = [f"{collection}/{numbered('own', worker)}" for worker in range(self._workers)]
        bodies = [self._call("GET", path) for path in paths]
        padding = round(texts * len(_PADDING.findall(bodies[0])))

        def make(worker: int, number: int) -> bytes:
            body = _NUMBER.sub(rb"\g<1>%08d" % number, bodies[worker], count=1)
            if padding:
                body = _PADDING.sub(rb"\g<1>%08d" % number, body, count=padding)
            if image:
                body = _IMAGE.sub(rb"\g<1>%05d" % (number % 100_000), body, count=1)
            return self._endpoint.request("PUT", paths[worker], JSON, JSON, body)

        def done(worker: int, number: int, answer: Answer) -> None:
            bodies[worker] = answer.content

        return make, done

    def label(self) -> tuple[Make, None]:
        """Return merge patches of a label."""
        collection = self._collection("pods")

        def make(worker: int, number: int) -> bytes:
            body = b'{"metadata":{"labels":{"round":"n%08d"}}}' % number
            return self._endpoint.request("PATCH", f"{collection}/{numbered('own', worker)}", JSON, MERGE, body)

        return make, None

    def apply(self, *, changes: bool) -> tuple[Make, None]:
        """Return applies of whole Pods, with another annotation each time, or the same again and again."""
        subject = self._bench.subject("pods")
        collection, template = subject.within(self._path), subject.template

        def make(worker: int, number: int) -> bytes:
            name = numbered("applied", worker)
            body = template.render(name, number if changes else 0, shard=worker)
            return self._endpoint.request("PATCH", f"{collection}/{name}{APPLY_QUERY}", JSON, APPLY, body)

        for worker in range(self._workers):
            self._call_raw(make(worker, 0))
        return make, None

    def lease(self) -> tuple[Make, Done]:
        """Return PUTs of a Lease as last answered, renewed."""
        version = f"{self._bench.options.naming.group('coordination.orch.io')}/v1"
        collection = f"/apis/{version}{self._path.removeprefix(CORE)}/leases"
        spec = {"holderIdentity": "node-1", "leaseDurationSeconds": 40, "renewTime": _TIME % (0, 0, 0)}
        bodies = self._made("Lease", version, collection, {"spec": spec})

        def make(worker: int, number: int) -> bytes:
            head, mark, rest = bodies[worker].partition(b'"renewTime":"')
            time = _TIME % (number // 60 % 60, number % 60, number)
            body = head + mark + time.encode() + rest[len(time) :]
            return self._endpoint.request("PUT", f"{collection}/{numbered('own', worker)}", JSON, JSON, body)

        def done(worker: int, number: int, answer: Answer) -> None:
            bodies[worker] = answer.content

        return make, done

    def event(self) -> tuple[Make, None]:
        """Return merge patches of an Event's count, as clients send them for what happens again."""
        collection = f"{self._path}/events"
        namespace = self._path.rpartition("/")[2]
        about = {"kind": "Pod", "namespace": namespace, "name": numbered("own", 0)}
        times = {"firstTimestamp": "2026-01-01T00:00:00Z", "lastTimestamp": "2026-01-01T00:00:00Z"}
        content = {"involvedObject": about, "reason": "Seen", "message": "It was seen", "count": 1, **times}
        self._made("Event", "v1", collection, {**content, "type": "Normal", "source": {"component": "bench"}})

        def make(worker: int, number: int) -> bytes:
            last = b"2026-01-01T01:%02d:%02dZ" % (number // 60 % 60, number % 60)
            body = b'{"count":%d,"lastTimestamp":"%b"}' % (number + 2, last)
            return self._endpoint.request("PATCH", f"{collection}/{numbered('own', worker)}", JSON, MERGE, body)

        return make, None

    def _collection(self, plural: str) -> str:
        """Return the path of a collection in which every worker has an object."""
        subject = self._bench.subject(plural)
        collection = subject.within(self._path)
        if plural not in self._filled:
            self._filled.add(plural)
            self._bench.fill(collection, subject, "own", self._workers)
        return collection

    def _made(self, kind: str, version: str, collection: str, content: dict[str, object]) -> list[bytes]:
        """Return the objects of all workers as last answered; they are created the first time."""
        if kind not in self._known:
            names = [{"metadata": {"name": numbered("own", worker)}} for worker in range(self._workers)]
            objects = [{"apiVersion": version, "kind": kind, **name, **content} for name in names]
            self._known[kind] = [self._call("POST", collection, orjson.dumps(obj)) for obj in objects]
        return self._known[kind]

    def _call(self, method: str, path: str, body: bytes = b"") -> bytes:
        return self._call_raw(self._endpoint.request(method, path, JSON, JSON if body else "", body))

    def _call_raw(self, request: bytes) -> bytes:
        connection = Connection(self._endpoint)
        answer = connection.call(request)
        connection.close()
        if problem := answer.problem(JSON):
            raise BenchError(problem)
        return answer.content
