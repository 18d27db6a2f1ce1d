"""Health endpoints: texts, exclusion, single checks, start and end of the process."""
# covers: orchtw.endpoints.checks

from __future__ import annotations

from twisted.internet.defer import Deferred
from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from orchtw.endpoints.checks import (
    LOG_BLOCKED_S,
    READYZ,
    CheckFailed,
    Checks,
    Condition,
    LogFlow,
    filled,
    store_check,
)
from orchtw.endpoints.health import Health
from orchtw.endpoints.paths import Paths
from orchtw.naming.naming import Naming
from orchtw.request import Peer, Request, Response


async def fine() -> None:
    """A check that passes."""


async def broken() -> None:
    """A check that fails."""
    raise CheckFailed("a secret reason")


class HealthTests(SynchronousTestCase):
    def setUp(self) -> None:
        self.clock = Clock()
        self.checks = Checks(Naming.orch())

    def get(self, path: str, query: str = "", grace_s: float = 0.0) -> Response:
        """The answer to one GET."""
        paths = Paths([Health(self.checks, self.clock, grace_s)])
        asked = Request(method="GET", path=path, query=query, peer=Peer(address="", port=0))
        return self.successResultOf(Deferred.fromCoroutine(paths(asked)))

    def answer(self, path: str, query: str = "") -> tuple[int, bytes]:
        """Code and body of one GET."""
        response = self.get(path, query)
        assert isinstance(response.body, bytes)
        return response.code, response.body

    def test_plain(self) -> None:
        """A healthy server says `ok` without a line end, as text that is not to be sniffed (reference OPS-2)."""
        self.checks.add("ping", fine)
        for path in ("/healthz", "/livez", "/readyz", "/livez/ping"):
            response = self.get(path)
            self.assertEqual((response.code, response.body), (200, b"ok"))
            self.assertEqual(response.content_type, "text/plain; charset=utf-8")
            self.assertIn(("X-Content-Type-Options", "nosniff"), response.headers)

    def test_verbose(self) -> None:
        """Verbose answers list the checks in their order and end with the endpoint's own name (reference OPS-3)."""
        self.checks.add("ping", fine)
        self.checks.add("log", fine)
        self.checks.add("informer-sync", fine, frozenset({READYZ}))
        for query in ("verbose", "verbose=", "verbose=false"):
            self.assertEqual(self.answer("/livez", query), (200, b"[+]ping ok\n[+]log ok\nlivez check passed\n"))
        self.assertEqual(
            self.answer("/readyz", "verbose")[1], b"[+]ping ok\n[+]log ok\n[+]informer-sync ok\nreadyz check passed\n"
        )

    def test_failure(self) -> None:
        """A failing check is a 500 with the verbose list and no reason, asked for or not (reference OPS-4)."""
        self.checks.add("ping", fine)
        self.checks.add("etcd", broken)
        for query in ("", "verbose"):
            self.assertEqual(
                self.answer("/healthz", query),
                (500, b"[+]ping ok\n[-]etcd failed: reason withheld\nhealthz check failed\n"),
            )

    def test_single_failure(self) -> None:
        """A failing check on its own path shows its reason (reference OPS-6)."""
        self.checks.add("etcd", broken)
        self.assertEqual(self.answer("/readyz/etcd"), (500, b"internal server error: a secret reason\n"))

    def test_exclude(self) -> None:
        """Excluded checks are not run and are shown as excluded; the parameter repeats (reference OPS-5)."""
        self.checks.add("etcd", broken)
        self.checks.add("log", broken)
        self.assertEqual(self.answer("/livez", "exclude=etcd&exclude=log"), (200, b"ok"))
        self.assertEqual(
            self.answer("/livez", "verbose&exclude=etcd&exclude=log"),
            (200, b"[+]etcd excluded: ok\n[+]log excluded: ok\nlivez check passed\n"),
        )

    def test_exclude_unknown(self) -> None:
        """An unknown name to exclude is a warning before the last line, not a failure (reference OPS-5)."""
        self.checks.add("ping", fine)
        self.assertEqual(
            self.answer("/livez", "verbose&exclude=foo"),
            (
                200,
                b'[+]ping ok\nwarn: some health checks cannot be excluded: no matches for "foo"\n'
                b"livez check passed\n",
            ),
        )
        self.assertEqual(self.answer("/livez", "exclude=foo"), (200, b"ok"))

    def test_unknown_check(self) -> None:
        """A check that the endpoint does not have, and a slash behind a path, are 404 (reference OPS-6)."""
        self.checks.add("shutdown", fine, frozenset({READYZ}))
        for path in ("/livez/shutdown", "/livez/x", "/livez/", "/readyz/"):
            self.assertEqual(self.get(path).code, 404, path)
        self.assertEqual(self.get("/readyz/shutdown").code, 200)

    def test_hook(self) -> None:
        """A start step fails every endpoint until it ended; its name may hold slashes (reference OPS-8)."""
        hook = self.checks.hook("rbac/bootstrap-roles")
        self.assertEqual(
            self.answer("/livez/poststarthook/rbac/bootstrap-roles"), (500, b"internal server error: not finished\n")
        )
        self.assertEqual(self.get("/healthz").code, 500)
        hook.met = True
        self.assertEqual(self.get("/healthz").code, 200)

    def test_hook_after(self) -> None:
        """`/livez` asks nothing of a step that cannot have begun (reference OPS-13)."""
        caches = Condition("caches are not filled yet")
        hook = self.checks.hook("rbac/bootstrap-roles", caches)
        path = "poststarthook/rbac/bootstrap-roles"
        self.assertEqual([self.answer(f"/{endpoint}/{path}")[0] for endpoint in ("livez", "readyz")], [200, 500])
        caches.met = True
        self.assertEqual(self.answer(f"/livez/{path}")[0], 500)
        hook.ended(done=False)
        self.assertEqual(self.answer(f"/livez/{path}")[0], 200)

    def test_progress(self) -> None:
        """A check that only needs time reports its progress, beside the other checks (reference OPS-13)."""
        caches, progress = Condition("caches are not filled yet"), ["3 objects have been read"]
        self.checks.add("informer-sync", filled(caches, lambda: 0, lambda: progress[0]), frozenset({READYZ}))
        hook = self.checks.hook("crd-informer-synced", caches)
        hook.progress = lambda: progress[0] or None
        name = "poststarthook/crd-informer-synced"
        self.assertEqual(
            self.answer("/readyz"),
            (
                500,
                b"[-]informer-sync failed: caches are not filled yet: 3 objects have been read\n"
                b"[-]poststarthook/crd-informer-synced failed: not finished: 3 objects have been read\n"
                b"readyz check failed\n",
            ),
        )
        self.assertEqual(
            self.answer(f"/readyz/{name}")[1], b"internal server error: not finished: 3 objects have been read\n"
        )
        caches.met, progress[0] = True, ""
        self.assertEqual(
            self.answer("/readyz")[1],
            b"[+]informer-sync ok\n[-]poststarthook/crd-informer-synced failed: reason withheld\n"
            b"readyz check failed\n",
        )
        hook.met = True
        self.assertEqual(self.answer("/readyz"), (200, b"ok"))

    def test_hook_names(self) -> None:
        """Steps are named in the vocabulary that is served (reference OPS-12)."""
        for naming, name in (
            (Naming.orch(), "poststarthook/start-orch-apiserver-admission-initializer"),
            (Naming.kubernetes(), "poststarthook/start-kube-apiserver-admission-initializer"),
        ):
            checks = Checks(naming)
            checks.hook("start-orch-apiserver-admission-initializer")
            self.assertEqual([check.name for check in checks.of(READYZ)], [name])

    def test_grace(self) -> None:
        """For --livez-grace-period /livez, and only it, forgives unfinished steps (reference OPS-8)."""
        self.checks.hook("bootstrap-controller")
        health = Paths([Health(self.checks, self.clock, 5.0)])

        def code(path: str) -> int:
            asked = Request(method="GET", path=path, peer=Peer(address="", port=0))
            return self.successResultOf(Deferred.fromCoroutine(health(asked))).code

        self.assertEqual([code(path) for path in ("/livez", "/readyz", "/healthz")], [200, 500, 500])
        self.clock.advance(5)
        self.assertEqual(code("/livez"), 500)

    def test_shutdown(self) -> None:
        """From the signal on /readyz fails with its reason while /livez is well (reference OPS-11)."""
        running = self.checks.condition(
            "shutdown", "process is shutting down", met=True, endpoints=frozenset({READYZ})
        )
        self.assertEqual(self.get("/readyz").code, 200)
        running.met = False
        self.assertEqual(self.answer("/readyz/shutdown"), (500, b"internal server error: process is shutting down\n"))
        self.assertEqual((self.get("/readyz").code, self.get("/livez").code), (500, 200))

    def test_same_name(self) -> None:
        """Two checks of one name are a mistake of the server's."""
        self.checks.add("ping", fine)
        self.assertRaises(ValueError, self.checks.add, "ping", fine)

    def test_log(self) -> None:
        """Check `log` fails when nothing could be flushed for two minutes (reference OPS-9)."""
        broken = [OSError(28, "No space left on device")]

        def flush() -> None:
            for error in broken:
                raise error

        self.checks.add("log", LogFlow(self.clock, flush))
        self.clock.advance(LOG_BLOCKED_S)
        self.assertEqual(self.answer("/livez/log"), (200, b"ok"))
        self.clock.advance(1)
        self.assertEqual(self.answer("/livez/log"), (500, b"internal server error: logging blocked\n"))
        broken.clear()
        self.assertEqual(self.get("/livez/log").code, 200)

    def test_log_of_an_idle_server(self) -> None:
        """A server that nobody asked for hours has a good log (reference OPS-9)."""
        self.checks.add("log", LogFlow(self.clock))
        self.clock.advance(LOG_BLOCKED_S * 100)
        self.assertEqual(self.get("/livez/log").code, 200)


class StoreCheckTests(SynchronousTestCase):
    def test_time_out(self) -> None:
        """A store that does not answer within two seconds fails with the reference server's text
        (reference OPS-10).
        """
        clock = Clock()
        never: Deferred[None] = Deferred()

        async def check() -> None:
            await never

        done: Deferred[None] = Deferred.fromCoroutine(store_check(check, clock)())  # type: ignore[arg-type]
        clock.advance(1.9)
        self.assertNoResult(done)
        clock.advance(0.2)
        failure = self.failureResultOf(done, CheckFailed)
        self.assertEqual(str(failure.value), "error getting data from etcd: context deadline exceeded")
        self.assertEqual(clock.getDelayedCalls(), [])

    def test_failure(self) -> None:
        """A store that cannot be reached fails with its own reason."""
        done = Deferred.fromCoroutine(store_check(broken, Clock())())  # type: ignore[arg-type,var-annotated]
        self.assertEqual(
            str(self.failureResultOf(done, CheckFailed).value), "error getting data from etcd: a secret reason"
        )

    def test_success(self) -> None:
        """A store that answers passes and leaves no timer behind."""
        clock = Clock()
        done = Deferred.fromCoroutine(store_check(fine, clock)())  # type: ignore[arg-type,var-annotated]
        self.assertIsNone(self.successResultOf(done))
        self.assertEqual(clock.getDelayedCalls(), [])
