"""Plugin of pytest: fixtures with an API server, and the last writes in the report of a failed test.

```python
def test_it(orch, orch_namespace, kubectl):
    with running_operator(orch.kubeconfig):
        kubectl("apply", "-f", "-", stdin=MANIFEST)
        orch.eventually("configmaps/out", namespace=orch_namespace)
```

A test suite that uses none of the fixtures pays for nothing: they import what they need.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from contextlib import suppress

import pytest

import orchtw.testing

_last_writes: pytest.StashKey[Callable[[], str]] = pytest.StashKey()
_server: pytest.StashKey[tuple[orchtw.testing.ApiServer, Callable[[], None]]] = pytest.StashKey()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options of the server."""
    group = parser.getgroup("orchtw", "API server for tests")
    group.addoption(
        "--orch-vocabulary",
        default="kubernetes",
        choices=("kubernetes", "orch"),
        help="names that the server of the fixtures orch and orch_server serves under (default: kubernetes)",
    )
    group.addoption(
        "--orch-flag",
        action="append",
        default=[],
        metavar="FLAG",
        help="flag of that server, such as --orch-flag=--v=3; repeatable",
    )


@pytest.fixture(scope="session")
def orch_server(request: pytest.FixtureRequest) -> Iterator[orchtw.testing.ApiServer]:
    """API server of the test session, or of each worker of pytest-xdist, as an `orchtw.testing.ApiServer`."""
    option = request.config.getoption
    with orchtw.testing.ApiServer(flags=option("orch_flag"), vocabulary=option("orch_vocabulary")) as server:
        finish: Callable[[], None] = lambda: request._fixturedef.finish(request)  # type: ignore[attr-defined]  # noqa: E731, SLF001
        request.session.stash[_server] = server, finish
        yield server
        del request.session.stash[_server]


@pytest.fixture(scope="session")
def orch_baseline(orch_server: orchtw.testing.ApiServer) -> None:
    """Preparation of the server for all tests; to be overridden, as by one that applies definitions."""


@pytest.fixture(scope="session")
def _orch_prepared(orch_server: orchtw.testing.ApiServer, orch_baseline: object) -> orchtw.testing.ApiServer:
    orch_server.set_baseline()
    return orch_server


@pytest.fixture
def orch(_orch_prepared: orchtw.testing.ApiServer, request: pytest.FixtureRequest) -> orchtw.testing.ApiServer:
    """API server of the session, in the state that the fixture `orch_baseline` left."""
    server = _orch_prepared
    server.reset()
    request.node.stash[_last_writes] = lambda: server.last_writes(server.reset_revision)
    return server


@pytest.fixture
def orch_namespace(orch_server: orchtw.testing.ApiServer, request: pytest.FixtureRequest) -> Iterator[str]:
    """Namespace of the test's own, which is deleted after it; nobody waits for the end of what is in it."""
    if "orch" in request.fixturenames:
        request.getfixturevalue("orch")  # whose reset comes first
    since = orch_server.revision()
    name = orch_server.new_namespace(request.node.name)
    request.node.stash[_last_writes] = lambda: orch_server.last_writes(since, name)
    yield name
    with suppress(OSError):  # a server that the test has killed
        orch_server.request("DELETE", f"/api/v1/namespaces/{name}")


@pytest.fixture
def kubectl(
    request: pytest.FixtureRequest,
    orch_server: orchtw.testing.ApiServer,
    tmp_path_factory: pytest.TempPathFactory,
) -> Callable[..., str]:
    """Function that runs `kubectl` as the administrator, in the test's namespace if it has one; returns its output.

    The test is skipped if there is no `kubectl`.
    """
    from orchtw.testing.kubectl_command import KubectlCommand, find

    if find() is None:
        pytest.skip("kubectl is not on the PATH")
    for name in ("orch", "orch_namespace"):
        if name in request.fixturenames:
            request.getfixturevalue(name)
    namespace = request.getfixturevalue("orch_namespace") if "orch_namespace" in request.fixturenames else ""
    return KubectlCommand(orch_server.kubeconfig, tmp_path_factory.mktemp("kubectl"), namespace)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Replace a server that has died: its fixture ends, with all that depend on it, and begins anew."""
    if _server not in item.session.stash or "orch_server" not in getattr(item, "fixturenames", ()):
        return
    server, finish = item.session.stash[_server]
    with suppress(OSError):
        server.request("GET", "/livez")  # notices an end that is under way
        return
    if not server.running:
        with suppress(OSError):  # of fixtures that write to the server at their end
            finish()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Add the last writes to the report of a test that fails."""
    made = yield
    if made.failed and _last_writes in item.stash:
        from orchtw.testing.last_writes import TITLE

        made.sections.append((TITLE, item.stash[_last_writes]()))
    return made
