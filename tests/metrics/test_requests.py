"""Request counters (reference METRIC-5, METRIC-6, METRIC-8)."""

from __future__ import annotations

from unittest.mock import patch

from twisted.trial.unittest import SynchronousTestCase

from orchtw.metrics import requests
from orchtw.metrics.registry import Registry
from orchtw.metrics.requests import RequestMetrics
from orchtw.request import Peer, Request
from tests.metrics.asked import asked, served, shown

TOTAL = "apiserver_request_total"
MAPS = "/api/v1/namespaces/ns/configmaps"
APPLY = "application/apply-patch+yaml"


class RequestTests(SynchronousTestCase):
    def setUp(self) -> None:
        self.registry = Registry(hidden=True)
        self.metrics = RequestMetrics(self.registry, served)

    def count(self, request: Request, code: int = 200, size: int = 10) -> None:
        self.metrics.of(request).answered(code, 0.1, 0.0, size)

    def one(self, method: str, url: str, **headers: str) -> tuple[str, ...]:
        """The labels of one request."""
        registry = Registry()
        RequestMetrics(registry, served).of(asked(method, url, **headers)).answered(200, 0.1, 0.0, 1)
        [labels] = shown(registry, TOTAL)
        return labels

    def test_verbs(self) -> None:
        """The verb is that of the request, a patch that applies is APPLY (reference METRIC-6)."""
        for method, url, verb in (
            ("GET", f"{MAPS}/a", "GET"),
            ("HEAD", f"{MAPS}/a", "GET"),
            ("GET", MAPS, "LIST"),
            ("GET", f"{MAPS}?watch=true", "WATCH"),
            ("POST", MAPS, "POST"),
            ("PUT", f"{MAPS}/a", "PUT"),
            ("PATCH", f"{MAPS}/a", "PATCH"),
            ("DELETE", f"{MAPS}/a", "DELETE"),
            ("DELETE", MAPS, "DELETECOLLECTION"),
            ("GET", "/api/v1/namespaces/ns/pods/a/exec", "CONNECT"),
            ("GET", "/api/v1/namespaces/ns/pods/a/log", "GET"),
            ("BREW", f"{MAPS}/a", "other"),
            ("BREW", "/version", "other"),
        ):
            self.assertEqual(self.one(method, url)[0], verb, url)
        self.assertEqual(self.one("PATCH", f"{MAPS}/a", content_type=APPLY)[0], "APPLY")

    def test_scopes(self) -> None:
        """The scope says whether one object was meant, those of a namespace, or all (reference METRIC-6)."""
        for method, url, scope in (
            ("GET", f"{MAPS}/a", "resource"),
            ("POST", MAPS, "resource"),
            ("GET", MAPS, "namespace"),
            ("GET", "/api/v1/configmaps", "cluster"),
            ("GET", "/version", ""),
        ):
            self.assertEqual(self.one(method, url)[6], scope, url)

    def test_dry_run(self) -> None:
        """A dry run is All, anything else nothing (reference METRIC-6)."""
        self.assertEqual(self.one("POST", f"{MAPS}?dryRun=All")[1], "All")
        self.assertEqual(self.one("POST", f"{MAPS}?dryRun=Some")[1], "")

    def test_no_resource(self) -> None:
        """A path that is not a resource is the sub-resource; made-up ones are one (reference METRIC-8)."""
        self.assertEqual(self.one("GET", "/healthz"), ("GET", "", "", "", "", "/healthz", "", "", "200"))
        self.assertEqual(self.one("GET", "/livez/etcd")[5], "/livez")
        self.assertEqual(self.one("GET", "/apis/apps/v1")[5], "/apis")
        self.assertEqual(self.one("GET", "/wp-admin")[5], "other")

    def test_unknown(self) -> None:
        """Whatever clients make up of groups, resources, sub-resources, verbs and codes is one series each
        (reference METRIC-8).
        """
        for number in range(3000):
            self.count(asked("GET", f"/apis/g{number}.example.com/v1/things{number}/a"), 404)
            self.count(asked("GET", f"{MAPS}/a/sub{number}"), 404)
            self.count(asked(f"M{number}", f"{MAPS}/a"), 405)
            self.count(asked("GET", f"/x{number}"), 404)
            self.count(asked("GET", f"{MAPS}/{number}"), 600 + number)
        self.assertEqual(
            shown(self.registry, TOTAL),
            {
                ("GET", "", "", "", "other", "", "resource", "apiserver", "404"): 3000,
                ("GET", "", "", "v1", "configmaps", "other", "resource", "apiserver", "404"): 3000,
                ("other", "", "", "v1", "configmaps", "", "resource", "apiserver", "405"): 3000,
                ("GET", "", "", "", "", "other", "", "", "404"): 3000,
                ("GET", "", "", "v1", "configmaps", "", "resource", "apiserver", "other"): 3000,
            },
        )

    def test_bounded(self) -> None:
        """There is an end to the kinds of requests as well; what is served no longer makes room
        (reference METRIC-8).
        """
        gone: set[str] = set()

        def named(group: str, version: str, resource: str, subresource: str) -> tuple[str, str, str, str] | None:
            return None if resource in gone else (group, version, resource, subresource)

        with patch.object(requests, "MOST_KINDS", 40):
            registry = Registry()
            metrics = RequestMetrics(registry, named)
            for number in range(100):
                metrics.of(asked("GET", f"/apis/g/v1/r{number}/a")).answered(200, 0.1, 0.0, 1)
            found = shown(registry, TOTAL)
            self.assertLessEqual(len(found), 41)
            self.assertGreater(found["GET", "", "", "", "other", "", "resource", "apiserver", "200"], 50)
            gone.update(f"r{number}" for number in range(100))
            metrics.resources_changed()
            metrics.of(asked("GET", "/apis/g/v1/new/a")).answered(200, 0.1, 0.0, 1)
        self.assertIn(("GET", "", "g", "v1", "new", "", "resource", "apiserver", "200"), shown(registry, TOTAL))
        self.assertNotIn(("GET", "", "g", "v1", "r1", "", "resource", "apiserver", "200"), shown(registry, TOTAL))

    def test_durations(self) -> None:
        """Durations are counted with and without the time spent in webhooks."""
        self.metrics.of(asked("POST", MAPS)).answered(201, 0.7, 0.5, 10)
        labels = ("POST", "", "", "v1", "configmaps", "", "resource", "apiserver")
        [whole] = [series for values, series in self.metrics.durations.series() if values == labels]
        [less] = [each for values, each in self.metrics.less_webhooks.series() if values == (labels[0], *labels[2:])]
        self.assertEqual((whole.total, round(less.total, 3)), (0.7, 0.2))

    def test_sizes(self) -> None:
        """Sizes are those of answers to reads of known length."""
        self.count(asked("GET", f"{MAPS}/a"), size=5000)
        self.count(asked("POST", MAPS))
        self.metrics.of(asked("GET", MAPS)).answered(200, 0.1, 0.0, None)
        labels = ("GET", "", "v1", "configmaps", "", "resource", "apiserver")
        self.assertEqual(shown(self.registry, "apiserver_response_sizes"), {labels: 1})

    def test_long_running(self) -> None:
        """Open long-running requests are counted up and down, under the deprecated name too."""
        kind = self.metrics.of(asked("GET", f"{MAPS}?watch=true"))
        self.metrics.opened(kind, 1)
        self.metrics.opened(kind, 1)
        self.metrics.opened(kind, -1)
        labels = ("WATCH", "", "v1", "configmaps", "", "namespace", "apiserver")
        for name in ("apiserver_longrunning_requests", "apiserver_longrunning_gauge"):
            self.assertEqual(shown(self.registry, name), {labels: 1})

    def test_before_the_target_is_known(self) -> None:
        """A request that is refused before its target has been read is counted all the same."""
        self.count(Request(method="POST", path="/x", peer=Peer(address="", port=0)), 400)
        self.assertEqual(shown(self.registry, TOTAL), {("POST", "", "", "", "", "other", "", "", "400"): 1})

    def test_field_validation(self) -> None:
        """Writes are measured by what becomes of unknown fields; no value of a client's own comes in."""
        for query in ("", "?fieldValidation=Strict", "?fieldValidation=Odd"):
            self.metrics.validated(asked("POST", f"{MAPS}{query}"), 0.1)
        found = shown(self.registry, "field_validation_request_duration_seconds")
        self.assertEqual(found, {("Warn", "true"): 2, ("Strict", "true"): 1})
