"""The API server for `unittest`: one for each class, in a fresh state for each test.

```python
class MyOperatorTests(ApiServerTestCase):
    server_flags = ("--v=3",)

    @classmethod
    def setUpClass(cls) -> None:
        super().setUpClass()
        apply_definitions(cls.server.kubeconfig)  # the state to which each test goes back has them

    def test_it(self) -> None:
        with running_operator(self.server.kubeconfig):
            self.kubectl("apply", "-f", "website.yaml")
            self.server.eventually("configmaps/out", namespace=self.namespace)
```

A failure has a note with the last writes since the reset: of the test, its sub-tests, setUp, tearDown and cleanups.
"""

from __future__ import annotations

import tempfile
import unittest
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, ClassVar

from orchtw.testing.api_server import ApiServer
from orchtw.testing.kubectl_command import LIMIT_S, KubectlCommand, find
from orchtw.testing.last_writes import TITLE
from orchtw.testing.noting import NotingResult
from orchtw.testing.server_died import ServerDied


class ApiServerMixin:
    """Mixin for test cases, which comes before `unittest.TestCase` or `IsolatedAsyncioTestCase` among the bases.

    Methods of `server` block. Tests with a loop call them in threads, as by `asyncio.to_thread`.
    """

    server: ClassVar[ApiServer]
    server_flags: ClassVar[Sequence[str]] = ()
    server_vocabulary: ClassVar[str] = "kubernetes"
    _baseline: ClassVar[bool] = False
    _namespace: str = ""

    @classmethod
    def setUpClass(cls) -> None:
        """Start the server. Raises StartFailed."""
        parent: Any = super()
        parent.setUpClass()
        cls.server = ApiServer(flags=cls.server_flags, vocabulary=cls.server_vocabulary).start()
        cls._baseline = False
        own: Any = cls
        own.addClassCleanup(cls.server.stop)

    def setUp(self) -> None:
        """Bring back the state that the class's `setUpClass` left; a server that has died is started anew.

        Raises RuntimeError under a runner without class fixtures, such as trial.
        """
        if not hasattr(type(self), "server"):
            raise RuntimeError("setUpClass was not called: under trial, use orchtw.testing.trial_case")
        try:
            self._reset()
        except ServerDied:
            self._start_again()
            self._reset()
        self._namespace = ""
        parent: Any = super()
        parent.setUp()

    def _reset(self) -> None:
        cls = type(self)
        if not cls._baseline:
            self.server.set_baseline()
            cls._baseline = True
        self.server.reset()

    def _start_again(self) -> None:
        """End the class's fixtures and begin them anew, as a runner does."""
        own: Any = type(self)
        with suppress(OSError):  # of what writes to the server at its end
            own.tearDownClass()
        own.doClassCleanups()
        own.setUpClass()

    @property
    def namespace(self) -> str:
        """Return the name of a namespace of the test's own, which is created at the first use."""
        if not self._namespace:
            own: Any = self
            self._namespace = self.server.new_namespace(own._testMethodName)
        return self._namespace

    def kubectl(self, *arguments: str, stdin: str = "", limit_s: float = LIMIT_S) -> str:
        """Run `kubectl` as the administrator, in the test's namespace, and return its output.

        The test is skipped if there is no `kubectl`. Raises KubectlFailed, subprocess.TimeoutExpired.
        """
        __tracebackhide__ = True
        if find() is None:
            raise unittest.SkipTest("kubectl is not on the PATH")
        with tempfile.TemporaryDirectory(prefix="orchtw-kubectl-") as home:
            command = KubectlCommand(self.server.kubeconfig, home, self.namespace)
            return command(*arguments, stdin=stdin, limit_s=limit_s)

    def run(self, result: unittest.TestResult | None = None) -> unittest.TestResult | None:
        """Run the test; its failures get a note with the last writes."""
        parent: Any = super()
        if result is None:
            ran: unittest.TestResult | None = parent.run()
            return ran
        parent.run(NotingResult(result, self._note))
        return result

    def defaultTestResult(self) -> Any:
        """Return the result of a run that was given none."""
        parent: Any = super()
        return NotingResult(parent.defaultTestResult(), self._note)

    def _note(self, error: Exception) -> None:
        error.add_note(f"{TITLE}\n{self.last_writes()}")

    def last_writes(self) -> str:
        """Return the text of the last writes since the test's reset, of its namespace if it has used one."""
        if not hasattr(type(self), "server"):
            return "the server was not started"
        return self.server.last_writes(self.server.reset_revision, self._namespace)


class ApiServerTestCase(ApiServerMixin, unittest.TestCase):
    """Test case with a server of its class: `self.server`."""
