"""`/metrics` of a whole server without network (reference METRIC-5, METRIC-7, METRIC-8)."""
# covers: orchtw.storage.metrics

from __future__ import annotations

import re
from collections.abc import Coroutine
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import orjson
from prometheus_client.openmetrics.parser import text_string_to_metric_families as read_open
from prometheus_client.parser import text_string_to_metric_families as read_plain
from twisted.internet.defer import Deferred
from twisted.internet.testing import MemoryReactorClock
from twisted.trial.unittest import SynchronousTestCase

from orchtw import __version__
from orchtw.assembly.membership import ServerKeys
from orchtw.bootstrap.server_leases import ServerPlace
from orchtw.config import Config
from orchtw.naming.naming import Naming
from orchtw.registry.offload import Offload
from orchtw.request import Ending, Peer, Request, Response
from orchtw.server import Server
from tests.client.world import MemoryStore

MAPS = "/api/v1/namespaces/default/configmaps"
_KIND = "verb group version resource subresource scope component"
_WATCHED = "group version kind"
FAMILIES = {
    "apiserver_request_total": "verb dry_run group version resource subresource scope component code",
    "apiserver_request_duration_seconds": "verb dry_run group version resource subresource scope component",
    "apiserver_request_slo_duration_seconds": _KIND,
    "apiserver_response_sizes": _KIND,
    "apiserver_longrunning_requests": _KIND,
    "apiserver_longrunning_gauge": _KIND,
    "apiserver_registered_watchers": _WATCHED,
    "apiserver_watch_events_total": _WATCHED,
    "apiserver_watch_events_sizes": _WATCHED,
    "apiserver_requested_deprecated_apis": "group version resource subresource removed_release",
    "apiserver_request_terminations_total": f"{_KIND} code",
    "apiserver_request_aborts_total": "verb group version resource subresource scope",
    "apiserver_request_post_timeout_total": "source status",
    "apiserver_request_filter_duration_seconds": "filter",
    "apiserver_selfrequest_total": "verb resource subresource",
    "apiserver_tls_handshake_errors_total": "",
    "field_validation_request_duration_seconds": "field_validation enabled",
    "apiserver_storage_objects": "resource",
    "etcd_object_counts": "resource",
    "apiserver_storage_list_total": "resource",
    "apiserver_storage_list_fetched_objects_total": "resource",
    "apiserver_storage_list_evaluated_objects_total": "resource",
    "apiserver_storage_list_returned_objects_total": "resource",
    "apiserver_cache_list_total": "resource_prefix index",
    "apiserver_cache_list_fetched_objects_total": "resource_prefix index",
    "apiserver_cache_list_returned_objects_total": "resource_prefix index",
    "apiserver_init_events_total": "resource",
    "apiserver_terminated_watchers_total": "resource",
    "watch_cache_capacity": "resource",
    "etcd_request_duration_seconds": "operation type",
    "etcd_db_total_size_in_bytes": "endpoint",
    "authentication_attempts": "result",
    "authentication_duration_seconds": "result",
    "authenticated_user_requests": "username",
    "authentication_token_cache_request_total": "status",
    "authentication_token_cache_request_duration_seconds": "status",
    "authentication_token_cache_fetch_total": "status",
    "authentication_token_cache_active_fetch_count": "status",
    "aggregator_unavailable_apiservice": "name",
    "aggregator_unavailable_apiservice_total": "name reason",
    "apiserver_webhooks_x509_missing_san_total": "",
    "rest_client_requests_total": "code method host",
    "rest_client_request_duration_seconds": "verb url",
    "workqueue_adds_total": "name",
    "workqueue_depth": "name",
    "workqueue_queue_duration_seconds": "name",
    "workqueue_work_duration_seconds": "name",
    "workqueue_retries_total": "name",
    "workqueue_unfinished_work_seconds": "name",
    "workqueue_longest_running_processor_seconds": "name",
    "orch_build_info": "major minor git_version git_commit git_tree_state build_date go_version compiler platform",
}
"""Labels of the release's families."""

STABLE = {
    "apiserver_request_total",
    "apiserver_request_duration_seconds",
    "apiserver_response_sizes",
    "apiserver_longrunning_requests",
    "apiserver_requested_deprecated_apis",
    "apiserver_storage_objects",
}


class ServedTests(SynchronousTestCase):
    def setUp(self) -> None:
        self.patch(Offload, "start", lambda offload: None)  # no threads: what takes long is done at once as well
        self.clock: Any = MemoryReactorClock()
        self.tokens = Path(self.mktemp())
        self.tokens.write_text('t,admin,1,"system:masters"\nu,bob,2\n')
        self.instance = self.process()

    def process(self, naming: Naming | None = None, **settings: Any) -> Server:
        config = Config.of(token_auth_file=self.tokens, **settings)
        instance = Server(
            config, naming or Naming.orch(), self.clock, store=MemoryStore(self.clock),
            place=ServerPlace("127.0.0.1", 1), keys=ServerKeys(secret=b"s" * 32),
        )  # fmt: skip
        self.run_to_end(instance.lifecycle.start())
        self.addCleanup(lambda: self.run_to_end(instance.lifecycle.stop()))
        return instance

    def run_to_end(self, work: Coroutine[Any, Any, Any]) -> Any:
        done = Deferred.fromCoroutine(work)
        for _ in range(1000):
            if done.called:
                break
            self.clock.advance(0.001)
        return self.successResultOf(done)

    def ask(self, method: str, url: str, body: Any = None, token: str = "t", **headers: str) -> Response:
        path, _, query = url.partition("?")
        given = {"authorization": f"Bearer {token}", "content-type": "application/json", **headers}
        data = b"" if body is None else orjson.dumps(body)
        request = Request(
            method=method, path=path, query=query, headers=given, body=data, peer=Peer(address="", port=0)
        )
        response: Response = self.run_to_end(self.instance.front.app(request))
        return response

    def text(self, **headers: str) -> str:
        response = self.ask("GET", "/metrics", **headers)
        assert response.parts is not None
        text = b"".join(response.parts).decode()
        response.end(Ending.COMPLETE)
        return text

    def value(self, name: str, /, **labels: str) -> float:
        """The sum of a family's samples that have these labels."""
        return sum(
            sample.value
            for family in read_plain(self.text())
            for sample in family.samples
            if sample.name == name and labels.items() <= sample.labels.items()
        )

    def test_families(self) -> None:
        """Every family of the release that has a meaning here is there, with its labels and bounds (reference
        METRIC-11).
        """
        self.instance.metrics.show_listener(Mock())
        families = self.instance.metrics.registry.all()
        found = {family.name: family for family in families if family.name in FAMILIES}
        self.assertEqual(set(FAMILIES) - set(found), set())
        for name, labels in FAMILIES.items():
            self.assertEqual(found[name].labels, tuple(labels.split()), name)
        request = (0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1, 1.25, 1.5, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 45, 60)
        self.assertEqual(found["apiserver_request_duration_seconds"].bounds, request)
        self.assertEqual(found["apiserver_response_sizes"].bounds, tuple(10**power for power in range(3, 10)))
        self.assertEqual(found["apiserver_watch_events_sizes"].bounds, tuple(1024 << power for power in range(8)))
        stable = {name for name, family in found.items() if family.help.startswith("[STABLE] ")}
        self.assertEqual(stable, STABLE)
        deprecated = {name for name, family in found.items() if "] (Deprecated since 1." in family.help}
        self.assertEqual(
            deprecated, {"apiserver_longrunning_gauge", "apiserver_registered_watchers", "etcd_object_counts"}
        )

    def test_both_forms_can_be_read(self) -> None:
        """Others' readers read both forms; each family says how stable it is (reference METRIC-1, METRIC-2)."""
        self.ask("GET", MAPS)
        text = self.text()
        self.assertGreater(len(list(read_plain(text))), 40)
        for line in re.findall(r"^# HELP .*$", text, re.M):
            self.assertRegex(line, r"^# HELP \w+ \[(ALPHA|STABLE)\] (\(Deprecated since 1\.\d+\.0\) )?[A-Z]")
        preferred = self.text(accept="application/openmetrics-text;version=1.0.0")
        self.assertGreater(len(list(read_open(preferred))), 40)

    def test_requests(self) -> None:
        """Requests are counted by resource and verb, refusals too."""
        created = {"metadata": {"name": "a"}}
        self.assertEqual(self.ask("POST", MAPS, created).code, 201)
        self.assertEqual(self.ask("POST", MAPS, created).code, 409)
        self.assertEqual(self.ask("GET", f"{MAPS}/a", token="u").code, 403)
        self.assertEqual(self.ask("GET", f"{MAPS}/a", token="x").code, 401)
        for verb, code in (("POST", "201"), ("POST", "409"), ("GET", "403"), ("GET", "401")):
            labels = {"resource": "configmaps", "version": "v1", "component": "apiserver"}
            found = self.value("apiserver_request_total", verb=verb, code=code, **labels)
            self.assertEqual(found, 1, (verb, code))
        self.assertEqual(self.value("authentication_attempts_total", result="error"), 1)

    def test_made_up_names(self) -> None:
        """Names that clients make up are not labels (reference METRIC-8)."""
        for url in ("/apis/evil.example.com/v1/evils/a", f"{MAPS}/a/evil", "/evil", "/api/v1/evils"):
            self.ask("GET", url)
        self.ask("EVIL", MAPS)
        self.assertNotIn("evil", self.text().lower())

    def test_store(self) -> None:
        """Objects are counted by resource, writes measured by what they do."""
        times = "etcd_request_duration_seconds_count"
        before = self.value(times, operation="create", type="configmaps")
        for name in "ab":
            self.ask("POST", MAPS, {"metadata": {"name": name}, "data": {"x": "y" * 100}})
        self.ask("DELETE", f"{MAPS}/a")
        self.assertEqual(self.value(times, operation="create", type="configmaps") - before, 2)
        self.assertEqual(self.value(times, operation="delete", type="configmaps"), 1)
        objects = len(orjson.loads(self.body(self.ask("GET", "/api/v1/configmaps")))["items"])
        self.assertEqual(self.value("apiserver_storage_objects", resource="configmaps"), objects)
        cached = {"resource_prefix": "/registry/configmaps"}
        self.assertEqual(self.value("apiserver_cache_list_total", **cached), 1)
        self.assertEqual(self.value("apiserver_cache_list_returned_objects_total", **cached), objects)
        self.assertGreater(self.value("orchtw_cache_object_bytes", resource="configmaps"), 100)

    def body(self, response: Response) -> bytes:
        return response.body if isinstance(response.body, bytes) else b"".join(response.body)

    def test_deprecated(self) -> None:
        """A deprecated version that has been asked for is shown once (reference VER-8)."""
        for _ in range(2):
            self.ask("GET", "/apis/batch/v1beta1/cronjobs")
        labels = {"group": "batch", "version": "v1beta1", "resource": "cronjobs", "removed_release": "1.25"}
        self.assertEqual(self.value("apiserver_requested_deprecated_apis", **labels), 1)

    def test_filters(self) -> None:
        """The durations of authentication and authorization are measured."""
        self.ask("GET", MAPS)
        for name in ("authentication", "authorization"):
            self.assertGreater(self.value("apiserver_request_filter_duration_seconds_count", filter=name), 0)

    def test_own_requests(self) -> None:
        """Requests by the server's own controllers are counted apart from clients' requests."""
        for _ in range(100):
            self.clock.advance(0.01)
        asked = {"resource": "serviceaccounts", "verb": "POST"}
        self.assertGreater(self.value("apiserver_selfrequest_total", **asked), 0)
        self.assertEqual(self.value("apiserver_request_total", **asked), 0)

    def test_queues(self) -> None:
        """The queues of controllers are shown, those of definitions too."""
        for _ in range(100):
            self.clock.advance(0.01)
        self.assertGreater(self.value("workqueue_adds_total", name="serviceaccount"), 0)
        self.assertEqual(self.value("workqueue_depth", name="serviceaccount"), 0)

    def test_reactor_lag(self) -> None:
        """The lag of late timers is measured; punctual timers count as no lag."""
        for _ in range(10):
            self.clock.advance(0.1)
        self.clock.advance(0.6)
        self.assertGreaterEqual(self.value("orchtw_reactor_lag_seconds_count"), 10)
        quick = self.value("orchtw_reactor_lag_seconds_bucket", le="0.2")
        self.assertEqual(self.value("orchtw_reactor_lag_seconds_count") - quick, 1)

    def test_build(self) -> None:
        """Build information names the product after its vocabulary."""
        self.assertEqual(self.value("orch_build_info", major="1", minor="24"), 1)
        self.instance = self.process(Naming.kubernetes())
        labels = {"git_version": "v1.24.0", "compiler": f"orchtw {__version__}"}
        self.assertEqual(self.value("kubernetes_build_info", **labels), 1)

    def test_flags(self) -> None:
        """Metrics can be left out, hidden ones shown, values of labels limited (reference METRIC-3, METRIC-11)."""
        self.ask("GET", MAPS)
        self.assertNotIn("etcd_object_counts", self.text())
        self.instance = self.process(
            show_hidden_metrics_for_version="1.23",
            disabled_metrics=("apiserver_request_total", "process_open_fds"),
            allow_metric_labels=(("apiserver_response_sizes,verb", "LIST"),),
        )
        self.ask("GET", f"{MAPS}/a")
        text = self.text()
        self.assertNotIn("apiserver_request_total", text)
        self.assertNotIn("process_open_fds", text)
        self.assertIn("# HELP etcd_object_counts [ALPHA] (Deprecated since 1.22.0) ", text)
        self.assertIn('verb="unexpected"', text)

    def test_who_may(self) -> None:
        """Reading metrics needs the right to get the path, and resetting them the right to delete it."""
        self.assertEqual(self.ask("GET", "/metrics", token="u").code, 403)
        self.assertEqual(self.ask("DELETE", "/metrics", token="u").code, 403)
        self.ask("GET", MAPS)
        self.assertEqual(self.ask("DELETE", "/metrics").body, b"metrics reset\n")
        self.assertEqual(self.value("apiserver_request_total", resource="configmaps"), 0)

    def test_apart(self) -> None:
        """Two servers in one process do not share their figures."""
        self.ask("GET", MAPS)
        self.assertEqual(self.value("apiserver_request_total", resource="configmaps"), 1)
        self.instance = self.process()
        self.assertEqual(self.value("apiserver_request_total", resource="configmaps"), 0)
