"""The API server for trial: asynchronous tests, in a fresh state each, whose operators run on the same reactor.

```python
class MyOperatorTests(ApiServerTrialCase):
    async def test_it(self) -> None:
        ...  # start the operator, with self.server.kubeconfig
        await self.server.eventually("configmaps/out", namespace="default")
```

A failure of a test, its setUp, tearDown or cleanups shows the last writes since the reset.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Sequence
from typing import Any, ClassVar

from twisted.internet.threads import deferToThread
from twisted.trial.itrial import IReporter
from twisted.trial.unittest import SkipTest, TestCase
from zope.interface import directlyProvides

from orchtw.testing.deferred_api_server import DeferredApiServer
from orchtw.testing.kubectl_command import LIMIT_S, KubectlCommand, find
from orchtw.testing.last_writes import TITLE
from orchtw.testing.noting import NotingResult
from orchtw.testing.server_died import ServerDied

_servers: dict[type, DeferredApiServer] = {}


class ApiServerTrialMixin:
    """Mixin for trial's asynchronous test cases, which comes before `TestCase` among the bases.

    The class's server starts with its first test. It runs until the first test of another class, or the end of the
    process: trial does not tell when a class has ended.
    """

    server: DeferredApiServer
    server_flags: ClassVar[Sequence[str]] = ()
    server_vocabulary: ClassVar[str] = "kubernetes"
    _namespace: str = ""

    async def setUp(self) -> None:
        """Start the class's server, or bring back the state that `set_up_server` left; one that died starts anew.

        Raises StartFailed.
        """
        cls = type(self)
        if cls not in _servers:
            await _stop_all()
            _servers[cls] = await self._started()
        self.server = _servers[cls]
        try:
            await self.server.reset()
        except ServerDied:
            del _servers[cls]
            await self.server.stop()
            _servers[cls] = await self._started()
            await self.server.reset()
        self._namespace = ""

    async def set_up_server(self) -> None:
        """Prepare `self.server` for all tests of the class, as with definitions; by default nothing is done."""

    async def _started(self) -> DeferredApiServer:
        from twisted.internet import reactor

        self.server = DeferredApiServer(reactor, flags=self.server_flags, vocabulary=self.server_vocabulary)
        await self.server.start()
        await self.set_up_server()
        await self.server.set_baseline()
        return self.server

    async def namespace(self) -> str:
        """Return the name of a namespace of the test's own, which is created at the first use."""
        if not self._namespace:
            own: Any = self
            self._namespace = await self.server.new_namespace(own._testMethodName)
        return self._namespace

    async def kubectl(self, *arguments: str, stdin: str = "", limit_s: float = LIMIT_S) -> str:
        """Run `kubectl` in a thread, as the administrator, in the test's namespace, and return its output.

        The test is skipped if there is no `kubectl`. Raises KubectlFailed, subprocess.TimeoutExpired.
        """
        if find() is None:
            raise SkipTest("kubectl is not on the PATH")
        with tempfile.TemporaryDirectory(prefix="orchtw-kubectl-") as home:
            command = KubectlCommand(self.server.kubeconfig, home, await self.namespace())
            return await deferToThread(command, *arguments, stdin=stdin, limit_s=limit_s)

    def run(self, result: Any) -> None:
        """Run the test; its failures show the last writes."""
        reporter = IReporter(result, None)
        noting = NotingResult(result if reporter is None else reporter, self._note)
        if reporter is not None:
            directlyProvides(noting, IReporter)
        parent: Any = super()
        parent.run(noting)

    def _note(self, error: Exception) -> None:
        extend(error, f"{TITLE}\n{self.last_writes()}")

    def last_writes(self) -> str:
        """Return the text of the last writes since the test's reset, of its namespace if it has used one."""
        if not hasattr(self, "server"):
            return "the server was not started"
        return self.server.last_writes(self.server.reset_revision, self._namespace)


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
