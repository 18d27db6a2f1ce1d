"""The API server for trial: asynchronous tests, in a fresh state each, whose operators run on the same reactor.

```python
class MyOperatorTests(ApiServerTrialCase):
    async def test_it(self) -> None:
        ...  # start the operator, with self.server.kubeconfig
        await self.server.eventually("configmaps/out", namespace="default")
```

A failure shows the last writes since the reset.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from twisted.internet.defer import Deferred, maybeDeferred
from twisted.python.failure import Failure
from twisted.trial.unittest import SkipTest, TestCase

from orchtw.testing.deferred_api_server import DeferredApiServer
from orchtw.testing.last_writes import LOOKED_AT, TITLE, report, unreadable

_servers: dict[type, DeferredApiServer] = {}


class ApiServerTrialMixin:
    """Mixin for trial's asynchronous test cases, which comes before `TestCase` among the bases.

    The class's server starts with its first test. It runs until the first test of another class, or the end of the
    process: trial does not tell when a class has ended.
    """

    server: DeferredApiServer
    server_flags: ClassVar[Sequence[str]] = ()
    server_vocabulary: ClassVar[str] = "kubernetes"

    async def setUp(self) -> None:
        """Start the class's server, or bring back the state that `set_up_server` left. Raises StartFailed."""
        if type(self) not in _servers:
            await _stop_all()
            _servers[type(self)] = await self._started()
        self.server = _servers[type(self)]
        await self.server.reset()

    async def set_up_server(self) -> None:
        """Prepare `self.server` for all tests of the class, as with definitions; by default nothing is done."""

    async def _started(self) -> DeferredApiServer:
        from twisted.internet import reactor

        self.server = DeferredApiServer(reactor, flags=self.server_flags, vocabulary=self.server_vocabulary)
        await self.server.start()
        await self.set_up_server()
        await self.server.set_baseline()
        return self.server

    def run(self, result: Any) -> None:
        """Run the test; its failure shows the last writes."""
        own: Any = self
        name: str = own._testMethodName
        setattr(self, name, self._reporting(getattr(self, name)))
        parent: Any = super()
        parent.run(result)

    def _reporting(self, test: Callable[[], Any]) -> Callable[[], Deferred[Any]]:
        async def explain(failure: Failure) -> Failure:
            if isinstance(failure.value, Exception) and not isinstance(failure.value, SkipTest):
                extend(failure.value, f"{TITLE}\n{await self.last_writes()}")
            return failure

        return lambda: maybeDeferred(test).addErrback(lambda failure: Deferred.fromCoroutine(explain(failure)))

    async def last_writes(self) -> str:
        """Return the text of the last writes since the test's reset."""
        try:
            return report(await self.server.history(since=self.server.reset_revision, limit=LOOKED_AT))
        except Exception as error:  # noqa: BLE001 - the test's own failure matters more
            return unreadable(error)


class ApiServerTrialCase(ApiServerTrialMixin, TestCase):  # type: ignore[misc]
    """Test case with a server of its class: `self.server`."""


def extend(error: Exception, text: str) -> None:
    """Add to the text of an error. Trial does not show notes, so it goes to the message, or to standard error."""
    error.add_note(text)
    if isinstance(error, KeyError) or not error.args or not isinstance(error.args[0], str):
        print(text, file=sys.stderr)
    else:
        error.args = (f"{error.args[0]}\n{text}", *error.args[1:])


async def _stop_all() -> None:
    while _servers:
        _, server = _servers.popitem()
        await server.stop()
