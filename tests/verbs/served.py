"""A whole server over a store in memory, on a Clock: requests in, answers out, and nothing that takes time."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from copy import copy
from typing import Any, ClassVar, TypeVar

from twisted.internet.defer import Deferred
from twisted.trial.unittest import SynchronousTestCase

from orchtw.admission import order
from orchtw.admission.attributes import Attributes, Operation
from orchtw.admission.chain import ChainPlugin
from orchtw.admission.plugins import PLUGINS
from orchtw.registry.offload import Offload
from orchtw.schema.catalogue import ResourceType
from orchtw.storage.store import KeyValue
from orchtw.testing import in_process
from orchtw.testing.in_process import ClientAnswer, InProcessServer
from orchtw.wire.objects import Object
from tests.client.world import MemoryStore
from tests.host_clock import HostClock
from tests.in_process import with_roles
from tests.schema.codec.shared_sets import check_shared_sets

T = TypeVar("T")
PLUGIN = "AlwaysAdmit"
"""The name under which the tests' own plugin stands, at the head of the chain."""

DEFAULT = "/api/v1/namespaces/default"
MERGE = {"content-type": "application/merge-patch+json"}
APPLY = {"content-type": "application/apply-patch+yaml"}


class Recorder:
    """Notes what it sees of the requests of people, and does what a test says."""

    def __init__(self) -> None:
        self.admitted: list[Attributes] = []
        self.validated: list[Attributes] = []
        self.mutate: Callable[[Attributes], Awaitable[None] | None] = lambda attributes: None

    def handles(self, operation: Operation, resource: ResourceType, subresource: str) -> bool:
        return True

    async def admit(self, attributes: Attributes) -> None:
        if attributes.user.name == "admin":
            self.admitted.append(attributes)
            if (waiting := self.mutate(attributes)) is not None:
                await waiting

    async def validate(self, attributes: Attributes) -> None:
        if attributes.user.name == "admin":
            self.validated.append(attributes)
            self._shown = copy(attributes)

    def only(self) -> Attributes:
        """The one write that both passes saw, with its objects, which it has let go; forgets it."""
        (found,), (again,) = self.admitted, self.validated
        assert found is again
        self.admitted, self.validated = [], []
        return self._shown


_begun: dict[str, tuple[Mapping[str, KeyValue], int]] = {}
"""What servers have written at their first start, and the revision that they came to, by their settings."""

# Settings that do not change what a server writes by itself.
_OF_REQUESTS = frozenset({"admission_control_config_file", "disable_admission_plugins", "enable_admission_plugins"})


class ServedCase(SynchronousTestCase):
    """A server without controllers and accounts, with a `plugin` that sees every write of the administrator's.

    `more` are further settings of it. It finds what another with the same settings has written at its start, unless
    it is to be the `first`.
    """

    more: ClassVar[Mapping[str, Any]] = {}
    first: ClassVar[bool] = False

    def setUp(self) -> None:
        self.plugin = Recorder()
        plugin = self.make_plugin()
        self.patch(order, "PLUGINS", {**PLUGINS, PLUGIN: lambda host, config, given: plugin})
        self.clock = HostClock()
        self.store = MemoryStore(self.clock)
        self.patch(in_process, "claim_store", lambda config, naming, reactor: self.store)
        self.patch(Offload, "start", lambda offload: None)  # no threads: large work is done at once as well
        settings: dict[str, Any] = {
            "enable_admission_plugins": (PLUGIN,),
            "disable_admission_plugins": ("ServiceAccount",),
            "controllers": (),
            **self.more,
        }
        self.server = InProcessServer(self.clock, self.mktemp(), **settings)
        self.start(str(sorted((key, value) for key, value in settings.items() if key not in _OF_REQUESTS)))
        self.addCleanup(lambda: self.run_async(self.server.instance.lifecycle.stop()))
        self.addCleanup(check_shared_sets, self)

    def start(self, begun: str) -> None:
        """Start the server; what it has written then is kept under that name."""
        if begun in _begun and not self.first:
            items, self.store.now = _begun[begun]
            self.store.items = dict(items)
            with_roles(self.server)
        self.run_async(self.server.start())
        if not self.first:
            _begun.setdefault(begun, (dict(self.store.items), self.store.now))

    def make_plugin(self) -> ChainPlugin:
        """The plugin that is in the chain."""
        return self.plugin

    def run_async(self, work: Awaitable[T]) -> T:
        """The result of `work`, with as many turns of the clock as it takes."""
        found: list[Any] = []
        Deferred.fromCoroutine(work).addBoth(found.append)  # type: ignore[arg-type]
        for _ in range(10_000):
            if found:
                break
            self.clock.advance(0)
        result = found[0]
        if hasattr(result, "raiseException"):
            result.raiseException()
        return result  # type: ignore[no-any-return]

    def send(
        self, method: str, path: str, body: Any = None, headers: Mapping[str, str] | None = None
    ) -> ClientAnswer:
        """The answer to a request; paths that do not begin with a slash are in namespace default."""
        url = path if path.startswith("/") else f"{DEFAULT}/{path}"
        return self.run_async(self.server.request(method, url, body, headers))

    def done(self, method: str, path: str, body: Any = None, headers: Mapping[str, str] | None = None) -> Object:
        """The object that a request answers with; it must succeed."""
        answer = self.send(method, path, body, headers)
        self.assertIn(answer.code, (200, 201, 202), answer.body)
        found: Object = answer.json
        return found

    def code(self, method: str, path: str, body: Any = None, headers: Mapping[str, str] | None = None) -> int:
        """The code of the answer."""
        return self.send(method, path, body, headers).code

    def seen(self, method: str, path: str, body: Any = None, headers: Mapping[str, str] | None = None) -> Attributes:
        """Return what the plugin saw of a request that succeeds."""
        self.done(method, path, body, headers)
        return self.plugin.only()

    def forget(self) -> None:
        """Forget what the plugin has seen so far."""
        self.plugin.admitted, self.plugin.validated = [], []
