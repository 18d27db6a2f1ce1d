"""Client configurations of webhooks (reference HOOK-4)."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from orchtw.rules.webhook_clients import client_causes, knows_review, review_causes, service_causes, url_causes


class WebhookClientTests(SynchronousTestCase):
    """Causes that reject a clientConfig, by field."""

    def test_one_of_both(self) -> None:
        """Exactly one of URL and service is required."""
        both = {"url": "https://a.b", "service": {"name": "a", "namespace": "b"}}
        for client, causes in (({}, 1), (both, 1), ({"url": "https://a.b"}, 0), ({"service": both["service"]}, 0)):
            self.assertEqual(len(client_causes(client)), causes)

    def test_urls(self) -> None:
        """A URL is https, names a host, and has no user, query or fragment."""
        for url in ("http://a.b", "https://", "https://u@a.b", "https://a.b?c", "https://a.b#c", "https://a b"):
            self.assertEqual([cause.field for cause in url_causes(url, "url")], ["url"])
        self.assertEqual(url_causes("https://a.b:8443/path", "url"), [])

    def test_services(self) -> None:
        """A service has a name, a namespace, a possible port and a path of DNS names."""
        service = {"name": "a", "namespace": "b"}
        self.assertEqual(service_causes({**service, "port": 8443, "path": "/a/b/"}, "s"), [])
        for wrong, field in (({"name": ""}, "s.name"), ({"namespace": ""}, "s.namespace"), ({"port": 0}, "s.port")):
            self.assertEqual([cause.field for cause in service_causes({**service, **wrong}, "s")], [field])
        for path in ("a", "//", "/a//b", "/A"):
            self.assertEqual({cause.field for cause in service_causes({**service, "path": path}, "s")}, {"s.path"})

    def test_reviews(self) -> None:
        """Review versions are different, and one of them is known where that is asked for."""
        self.assertEqual((knows_review(["v2", "v1"]), knows_review(["v2"])), (True, False))
        self.assertEqual([cause.field for cause in review_causes(["v1", "v1"], must_know=True, field="f")], ["f[1]"])
        self.assertEqual([cause.field for cause in review_causes(["v2"], must_know=True, field="f")], ["f"])
        self.assertEqual(review_causes(["v2"], must_know=False, field="f"), [])
