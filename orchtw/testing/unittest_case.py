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
            self.server.eventually("configmaps/out", namespace="default")
```

A failure has a note with the last writes since the reset.
"""

from __future__ import annotations

import inspect
import unittest
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import wraps
from typing import Any, ClassVar

from orchtw.testing.api_server import ApiServer
from orchtw.testing.last_writes import LOOKED_AT, TITLE, report, unreadable


class ApiServerMixin:
    """Mixin for test cases, which comes before `unittest.TestCase` or `IsolatedAsyncioTestCase` among the bases.

    Methods of `server` block. Tests with a loop call them in threads, as by `asyncio.to_thread`.
    """

    server: ClassVar[ApiServer]
    server_flags: ClassVar[Sequence[str]] = ()
    server_vocabulary: ClassVar[str] = "kubernetes"
    _baseline: ClassVar[bool] = False

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
        """Bring back the state that the class's `setUpClass` left.

        Raises RuntimeError under a runner without class fixtures, such as trial.
        """
        cls = type(self)
        if not hasattr(cls, "server"):
            raise RuntimeError("setUpClass was not called: under trial, use orchtw.testing.trial_case")
        if not cls._baseline:
            self.server.set_baseline()
            cls._baseline = True
        self.server.reset()
        parent: Any = super()
        parent.setUp()

    def run(self, result: unittest.TestResult | None = None) -> unittest.TestResult | None:
        """Run the test; its failure gets a note with the last writes."""
        own: Any = self
        name: str = own._testMethodName
        setattr(self, name, self._reporting(getattr(self, name)))
        parent: Any = super()
        ran: unittest.TestResult | None = parent.run(result)
        return ran

    def _reporting(self, test: Callable[[], Any]) -> Callable[[], Any]:
        """Return the test, a coroutine function if it is one, with the note on its exceptions."""

        @wraps(test)
        def run() -> Any:
            with self._noting():
                return test()

        @wraps(test)
        async def run_coroutine() -> Any:
            with self._noting():
                return await test()

        return run_coroutine if inspect.iscoroutinefunction(test) else run

    @contextmanager
    def _noting(self) -> Iterator[None]:
        try:
            yield
        except unittest.SkipTest:
            raise
        except Exception as error:
            error.add_note(f"{TITLE}\n{self.last_writes()}")
            raise

    def last_writes(self) -> str:
        """Return the text of the last writes since the test's reset."""
        try:
            return report(self.server.history(since=self.server.reset_revision, limit=LOOKED_AT))
        except Exception as error:  # noqa: BLE001 - the test's own failure matters more
            return unreadable(error)


class ApiServerTestCase(ApiServerMixin, unittest.TestCase):
    """Test case with a server of its class: `self.server`."""
