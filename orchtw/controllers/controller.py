"""Base of controllers: a service that reconciles keys until the state is as desired."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Sequence
from random import Random
from typing import Any, ClassVar, Protocol, TypeVar

import attrs
import msgspec
from twisted.application.service import Service
from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IReactorTime

from orchtw.client.fencing import Tenure
from orchtw.client.interface import Client, Resource
from orchtw.client.work_queue import CONTROLLER, Backoff, NoMetrics, QueueMetrics, WorkQueue
from orchtw.naming.naming import Naming
from orchtw.quota.unsettled import Unsettled
from orchtw.registry.offload import Compute, at_once
from orchtw.request import RequestInfo, UserInfo
from orchtw.rules.contests import Contests, content_of, key_of
from orchtw.schema.nodes import Node
from orchtw.watch.turns import ReactorTurns
from orchtw.wire.objects import Object

T = TypeVar("T")


class Unhealthy(Exception):
    """Error: a controller does not work; its text is shown by the health check."""


def no_metrics(controller: str) -> QueueMetrics:
    """Return no-op metrics: the default of a host."""
    return NoMetrics()


KindOf = Callable[[str, str, str], tuple[str, Node] | None]
"""Finds the kind and schema of a resource by group, version and plural."""


def no_kind(group: str, version: str, plural: str) -> tuple[str, Node] | None:
    """Return None: the default of a host that knows no schemas."""
    return None


class Access(Protocol):
    """Access checks for other users, as by SubjectAccessReview."""

    async def allowed(self, user: UserInfo, asked: RequestInfo) -> bool:
        """Report whether the user may do this."""


class NoAccess:
    """Denies everything: the access check of a host without an authorizer."""

    async def allowed(self, user: UserInfo, asked: RequestInfo) -> bool:
        """Report whether the user may do this."""
        return False


@attrs.frozen(slots=True, kw_only=True, eq=False)
class ControllerHost:
    """Services of the process to its controllers.

    `new_client` makes the client of a named service account, which may only write under a tenure, and `joined`
    extends it to aggregated API servers. `tenure` is that of the controllers that are made for this host. `now` is
    the time in seconds since the epoch; `metrics_for` returns the metrics of a controller's queue; `access` checks
    the rights of others; `run` reads large objects in a thread, and long work is done in `turns`. `unsettled` is what
    quotas are charged for writes of this process on their way, and `foreign_charges_s` how long the charges of other
    processes may be without an object, 0: there are none. `contests` are those that its controllers have with other
    writers. `kind_of` finds the schemas of resources.
    """

    new_client: Callable[[str, Tenure | None], Client]
    joined: Callable[[Client, str, Tenure | None], Client] | None = None
    naming: Naming
    clock: IReactorTime
    random: Random
    now: Callable[[], float]
    turns: ReactorTurns
    metrics_for: Callable[[str], QueueMetrics] = no_metrics
    access: Access = attrs.field(factory=NoAccess)
    run: Compute = at_once
    unsettled: Unsettled = attrs.field(factory=Unsettled)
    foreign_charges_s: float = 0.0
    tenure: Tenure | None = None
    kind_of: KindOf = no_kind
    contests: Contests = attrs.field(
        default=attrs.Factory(lambda host: Contests(host.clock.seconds), takes_self=True)
    )

    def client_for(self, account: str) -> Client:
        """Return the client of a named service account."""
        return self.new_client(account, self.tenure)


class Published(msgspec.Struct, frozen=True):
    """Desired content of an object. `content` is JSON, with a uid if another object may come in its place."""

    namespace: str
    name: str
    content: Any


class WorkSource(Protocol):
    """Source of a controller's keys: an informer or a reflector."""

    @property
    def synced(self) -> bool:
        """Report whether the initial list has been delivered."""

    def start(self) -> None:
        """Begin to deliver keys."""

    def stop(self) -> None:
        """Stop delivering keys to the queue."""


class Controller(Service, ABC):
    """Controller whose keys come from `sources`, pass through `queue`, and end in `reconcile`, repeated until it
    succeeds.

    `name` is its name in `--controllers`; `account` the service account it writes as. `sees_all`: it also handles
    objects of aggregated API servers.
    """

    name: str
    account: ClassVar[str]
    backoff: ClassVar[Backoff] = CONTROLLER
    sees_all: ClassVar[bool] = False

    def __init__(self, host: ControllerHost, concurrency: int) -> None:
        self.host = host
        self.client = host.client_for(self.account)
        if self.sees_all and host.joined is not None:
            self.client = host.joined(self.client, self.account, host.tenure)
        self.queue: WorkQueue[str] = WorkQueue(
            self.reconcile,
            host.clock,
            host.random,
            name=self.name,
            concurrency=concurrency,
            backoff=self.backoff,
            metrics=host.metrics_for(self.name),
        )

    @property
    @abstractmethod
    def sources(self) -> Sequence[WorkSource]:
        """Return the present sources of the queue."""

    @abstractmethod
    async def reconcile(self, key: str) -> float | None:
        """Look at one key and do what is due.

        Returns the seconds after which to look again, None when all is well; raises to be called again with growing
        delays.
        """

    async def publish(
        self, resource: Resource, wanted: Published, found: Object | None, write: Callable[[], Awaitable[object]]
    ) -> float | None:
        """Let `write` make an object what it should be in the place of what was `found`.

        Returns the seconds after which to look again, for `reconcile` to return, if another writer keeps undoing it.
        Raises what `write` raises.
        """
        key = key_of(resource.plural, wanted.namespace, wanted.name)
        contests, before = self.host.contests, content_of(found)
        wait_s = contests.due_in_s(key, wanted.content, lambda: before)
        if wait_s:
            return wait_s
        await write()
        contests.wrote(key, wanted.content, before)
        return None

    def startService(self) -> None:
        """Follow the sources, then work."""
        super().startService()  # type: ignore[no-untyped-call]
        for source in self.sources:
            source.start()
        self.queue.start()

    def stopService(self) -> Deferred[None]:
        """Stop the controller; fires when no key is being processed any more."""
        super().stopService()  # type: ignore[no-untyped-call]
        for source in self.sources:
            source.stop()
        return Deferred.fromCoroutine(self.queue.stop())

    @property
    def synced(self) -> bool:
        """Report whether every source has delivered its initial list."""
        return all(source.synced for source in self.sources)

    async def check(self) -> str | None:
        """Return a note while not everything has been seen yet. Raises Unhealthy when the controller does not run."""
        if not self.queue.active:
            raise Unhealthy("not running")
        return None if self.synced else "not synced yet"
