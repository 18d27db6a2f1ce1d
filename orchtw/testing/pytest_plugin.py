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

import re
import secrets
from collections.abc import Callable, Generator, Iterator
from contextlib import suppress

import pytest

import orchtw.testing

_MOST_NAME = 40
_ACCOUNT_S = 5.0

_last_writes: pytest.StashKey[Callable[[], str]] = pytest.StashKey()


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
        yield server


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
    request.node.stash[_last_writes] = lambda: _report(server, server.reset_revision, "")
    return server


@pytest.fixture
def orch_namespace(orch_server: orchtw.testing.ApiServer, request: pytest.FixtureRequest) -> Iterator[str]:
    """Namespace of the test's own, which is deleted after it; nobody waits for the end of what is in it."""
    if "orch" in request.fixturenames:
        request.getfixturevalue("orch")  # whose reset comes first
    name = f"{_slug(request.node.name)}-{secrets.token_hex(3)}"
    since = orch_server.revision()
    made = orch_server.request("POST", "/api/v1/namespaces", {"metadata": {"name": name}})
    made.checked(f"namespace {name}")
    request.node.stash[_last_writes] = lambda: _report(orch_server, since, name)
    with suppress(orchtw.testing.ConditionNotMet):  # a server whose flags turn off the controller
        orch_server.eventually("serviceaccounts/default", namespace=name, timeout_s=_ACCOUNT_S)
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


def _report(server: orchtw.testing.ApiServer, since: int, namespace: str) -> str:
    from orchtw.testing.last_writes import LOOKED_AT, report, unreadable

    try:
        return report(server.history(since=since, limit=LOOKED_AT, namespace=namespace))
    except Exception as error:  # noqa: BLE001 - the test's own failure matters more
        return unreadable(error)


def _slug(name: str) -> str:
    """Return the beginning of a test's name as that of a namespace."""
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:_MOST_NAME].strip("-") or "test"
