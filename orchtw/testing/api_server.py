"""The API server for any test: a context manager over a child process.

```python
from orchtw.testing import ApiServer

with ApiServer() as server:
    kubernetes.config.load_kube_config(str(server.kubeconfig))
    ...  # start the operator
    server.eventually("deployments.apps/web", lambda web: web["status"]["readyReplicas"] == 3, namespace="shop")
```
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator, Sequence
from datetime import datetime
from functools import wraps
from types import TracebackType
from typing import Any, Self, TypeVar, Unpack, overload

from orchtw.exports.importing import Imported
from orchtw.exports.replaying import Replayed
from orchtw.testing.control.answers import RawAnswer
from orchtw.testing.control.blocking import BlockingNetwork, blocking_iterator, finish
from orchtw.testing.control.calls import StateSnapshot, Watches
from orchtw.testing.control.conditions import arranged
from orchtw.testing.control.eventually import TIMEOUT_S, Predicate
from orchtw.testing.control.faults import Faults, Texts
from orchtw.testing.control.reader import AsyncReader, Object, Reader
from orchtw.testing.control.recording import ExportFile
from orchtw.testing.control.records import ObjectDifference, RecordedWrite
from orchtw.testing.control.server_control import ObjectFilters, ServerControl, UserWriteFilters, WriteFilters
from orchtw.testing.server_handle import ServerHandle

T = TypeVar("T")


class ApiServer(ServerHandle):
    """API server in a child process, for tests that block and for threads.

    It serves the API under Kubernetes' names out of memory, on a free port of 127.0.0.1, and ends with this process,
    however that ends. Several servers may run at once; a forked process may use its parent's server but does not end
    it. Methods raise `ApiError` for refusals and OSError when the server is gone.
    """

    def __init__(
        self,
        *,
        flags: Sequence[str] = (),
        vocabulary: str = "kubernetes",
        storage: str = "memory",
        data_dir: str | os.PathLike[str] | None = None,
    ) -> None:
        super().__init__(flags=flags, vocabulary=vocabulary, storage=storage, data_dir=data_dir)
        self._control = ServerControl(self._reached)

    def start(self) -> Self:
        """Start the server and wait until it is ready. Raises StartFailed with its last words."""
        self._launch(BlockingNetwork())
        self._control.forget_state()
        return self

    def stop(self) -> None:
        """End the server and remove its temporary folder."""
        __tracebackhide__ = True
        self._finish()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.stop()

    @property
    def faults(self) -> Faults:
        """Return the faults on demand."""
        return Faults(self._control.faults)

    def request(self, method: str, path: str, body: Any = None, content_type: str = "") -> RawAnswer:
        """Send any request as the administrator, a body other than bytes as JSON; returns a response of any code."""
        __tracebackhide__ = True
        return finish(self._control.request(method, path, body, content_type))

    def new_namespace(self, test: str = "") -> str:
        """Create a namespace with a name of its own, which begins with the test's if one is given; returns the name.

        Its account is there, unless flags turn off the controller that makes it. Raises ApiError.
        """
        __tracebackhide__ = True
        return finish(self._control.new_namespace(test))

    def reader(self) -> Reader:
        """Return a reader of the present objects."""
        return Reader(self._control.reader())

    def reset(self, watches: Watches = "expire") -> int:
        """Bring back the state after the start, or that of `set_baseline`; returns the revision.

        All faults and mappings that came since then are removed, and snapshots taken since then are released.
        Revisions go on. Watches end with a 410, or follow with DELETED and ADDED events.
        """
        __tracebackhide__ = True
        return finish(self._control.reset(watches))

    def set_baseline(self) -> None:
        """Make the present state, such as one with definitions, that which `reset` brings back.

        Snapshots taken before are kept until they are released.
        """
        __tracebackhide__ = True
        finish(self._control.set_baseline())

    @property
    def reset_revision(self) -> int:
        """Return the revision of the latest reset or restore, 0 before the first: `writes` counts from there."""
        return self._control.reset_revision

    def snapshot(self) -> StateSnapshot:
        """Keep the present state for `restore`, until it is released or the next reset."""
        __tracebackhide__ = True
        return finish(self._control.snapshot())

    def restore(self, state: StateSnapshot | str, watches: Watches = "expire") -> int:
        """Bring back a state, or one by its id; returns the revision. Raises ApiError (404) for a released one."""
        __tracebackhide__ = True
        return finish(self._control.restore(state, watches))

    def release(self, state: StateSnapshot | str) -> None:
        """Let go of a state, or of one by its id. Raises ApiError (404)."""
        __tracebackhide__ = True
        finish(self._control.release(state))

    def advance(self, seconds: float) -> datetime:
        """Advance the time of a simulated cluster (`--simulate`), through all that is due on the way.

        Returns the new simulated time. Raises ApiError (404) without a simulation.
        """
        __tracebackhide__ = True
        return finish(self._control.advance(seconds))

    def revision(self) -> int:
        """Return the latest revision: a mark for `writes`, `history`, `at` and `diff`."""
        __tracebackhide__ = True
        return finish(self._control.revision())

    def history(
        self, since: int | str = "", until: int | str = "", limit: int = 0, **filters: Unpack[WriteFilters]
    ) -> list[RecordedWrite]:
        """Return recorded writes, oldest first. Bounds are revisions, RFC 3339 times or durations ago ("5m").

        `limit` keeps the last ones. Raises ApiError (400).
        """
        __tracebackhide__ = True
        return finish(self._control.history(since, until, limit, **filters))

    def writes(
        self,
        user: str | None = None,
        *,
        since: int | None = None,
        ignore: Texts = (),
        **filters: Unpack[UserWriteFilters],
    ) -> list[RecordedWrite]:
        """Return the writes of a user since a revision, by default the latest reset.

        Writes to the resources in `ignore`, one name or several, are left out, and without a user the server's own.

        ```python
        mark = server.revision()
        reconcile()
        assert not server.writes("system:serviceaccount:shop:operator", since=mark)
        ```
        """
        __tracebackhide__ = True
        return finish(self._control.writes(user, since=since, ignore=ignore, **filters))

    def quiet(self, for_s: float, ignore: Texts = (), **filters: Unpack[WriteFilters]) -> None:
        """Wait for `for_s` seconds. Raises NotQuiet if there are such writes as `writes` would return.

        ```python
        server.quiet(0.5, user="operator", ignore=["leases"])
        ```
        """
        __tracebackhide__ = True
        finish(self._control.quiet(for_s, ignore, **filters))

    def follow(
        self, since: int | str | None = None, *, timeout_s: float | None = None, **filters: Unpack[WriteFilters]
    ) -> Iterator[RecordedWrite]:
        """Return an iterator of writes as they are recorded: those after a revision, by default those from now on.

        It ends when none comes within `timeout_s`. Raises ApiError.

        ```python
        for write in server.follow(user="operator", timeout_s=1):
            print(write)
        ```
        """
        __tracebackhide__ = True
        start = self.revision() if since is None else since
        return blocking_iterator(self._control.follow(start, timeout_s=timeout_s, **filters))

    def export(self, target: ExportFile, *, since: int | None = None, **filters: Unpack[ObjectFilters]) -> int:
        """Write objects and the writes to them as an export of `orch-record`; returns the number of its lines.

        It begins with the record, or at a revision. Data of Secrets are not in it. Raises ApiError and OSError.
        """
        __tracebackhide__ = True
        return finish(self._control.export(target, since=since, **filters))

    def import_(self, source: ExportFile, *, at: int | None = None) -> Imported:
        """Create the objects of an export, as they were at a revision, by default in the end; see `complaints`.

        Objects that are there stay as they are. Raises ConfigError for another file.
        """
        __tracebackhide__ = True
        return finish(self._control.import_(source, at=at))

    def replay(
        self, source: ExportFile, *, speed: float = 1.0, users: Collection[str] = ()
    ) -> tuple[Imported, Replayed]:
        """Create the objects at the beginning of an export and repeat its writes, `speed` seconds in one.

        With `speed=math.inf` nothing waits. `users` selects the users whose writes are repeated. Raises ConfigError.
        """
        __tracebackhide__ = True
        return finish(self._control.replay(source, speed=speed, users=users))

    def at(self, revision: int) -> Reader:
        """Return a reader of the objects as of a revision. It raises ApiError (410) for one that is not kept."""
        return Reader(self._control.at(revision))

    def diff(self, before: int, after: int | None = None, **filters: Unpack[ObjectFilters]) -> list[ObjectDifference]:
        """Return what differs between two revisions, the later by default the latest. Raises ApiError (410)."""
        __tracebackhide__ = True
        return finish(self._control.diff(before, after, **filters))

    @overload
    def eventually(
        self,
        condition: str,
        predicate: Predicate | float = ...,
        *,
        namespace: str = ...,
        labels: str = ...,
        fields: str = ...,
        timeout_s: float | None = ...,
    ) -> Object: ...

    @overload
    def eventually(
        self,
        condition: Callable[[Reader], T],
        predicate: float = ...,
        *,
        timeout_s: float | None = ...,
    ) -> T: ...

    def eventually(
        self,
        condition: str | Callable[[Reader], T],
        predicate: Predicate | float = bool,
        *,
        namespace: str = "",
        labels: str = "",
        fields: str = "",
        timeout_s: float | None = None,
    ) -> T | Object:
        """Wait for a condition and return what met it. Raises ConditionNotMet with what was seen last.

        The condition is either a selection, RESOURCE/NAME or RESOURCE with selectors, of which an object meets the
        predicate (by default, any object; with `absent`, there is no object any more); or a function that reads
        objects, whose true value counts. Exceptions such as KeyError and AssertionError in them mean "not yet", as a
        client library's error of code 404 does. A number in the predicate's place is the timeout.

        Raises TypeError at once for a predicate or function that does not take one argument.

        ```python
        server.eventually("configmaps/out", lambda found: found["data"]["x"] == "2", namespace="shop", timeout_s=5)
        server.eventually("pods", absent, namespace="shop", labels="app=web")
        server.eventually(lambda read: len(read.list("pods", "shop")) == 3)
        ```

        Events of watches wake it, and functions are called again after each write; no state of a selection is
        missed, however short.
        """
        __tracebackhide__ = True
        selectors = bool(namespace or labels or fields)
        met, seconds = arranged(condition, predicate, timeout_s, TIMEOUT_S, asynchronous=False, selectors=selectors)
        if isinstance(condition, str):
            waiting = self._control.eventually(
                condition, met, namespace=namespace, labels=labels, fields=fields, timeout_s=seconds
            )
            return finish(waiting)
        read = condition

        @wraps(read)
        async def looked(reader: AsyncReader) -> T:
            return read(Reader(reader))

        return finish(self._control.eventually(looked, timeout_s=seconds))

    def map_service(self, service: str, address: str) -> None:
        """Dial `address` ("127.0.0.1:10250") for a Service's port ("cert-manager/webhook:443"), until the reset.

        Webhooks and aggregated APIs that name the Service are then answered by the tester's process, under the
        Service's name in TLS. Raises ValueError for another form.
        """
        __tracebackhide__ = True
        finish(self._control.map_service(service, address))
