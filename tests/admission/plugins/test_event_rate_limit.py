"""EventRateLimit (reference PLUG-10, PLUG-84)."""

from __future__ import annotations

from typing import Any

from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from orchtw.admission.attributes import Attributes
from orchtw.admission.chain import Chain
from orchtw.admission.plugins.event_rate_limit import Buckets, EventRateLimit, Limit, read, share
from orchtw.errors import ConfigError, TooManyRequests
from orchtw.request import UserInfo
from orchtw.wire.objects import Object
from tests.admission.asked import attributes, configured, pass_chain
from tests.admission.plugins.served import PluginCase

HEAD = {"apiVersion": "eventratelimit.admission.orch.io/v1alpha1", "kind": "Configuration"}
NEW = "events.orch.io/v1"
SERVER = {"type": "Server", "qps": 1, "burst": 2}

WRONG: list[tuple[Object, str]] = [
    ({"limits": [SERVER]}, "Object 'apiVersion' is missing"),
    ({**HEAD, "apiVersion": "v1", "limits": [SERVER]}, 'no kind "Configuration" is registered for version "v1"'),
    (HEAD, "limits: must not be empty"),
    ({**HEAD, "limits": []}, "limits: must not be empty"),
    ({**HEAD, "limit": [SERVER]}, 'unknown field "limit"'),
    ({**HEAD, "limits": {}}, "limits: must be a list"),
    ({**HEAD, "limits": [SERVER, {**SERVER, "size": 1}]}, 'limits[1]: unknown field "size"'),
    (
        {**HEAD, "limits": [{**SERVER, "type": "server"}]},
        'limits[0].type: Unsupported value: "server": supported values: '
        '"Namespace", "Server", "SourceAndObject", "User"',
    ),
    ({**HEAD, "limits": [{"type": "Server", "qps": 1}]}, "limits[0].burst: must be positive"),
    ({**HEAD, "limits": [{**SERVER, "qps": 0}]}, "limits[0].qps: must be positive"),
    ({**HEAD, "limits": [{**SERVER, "qps": 1.5}]}, "limits[0].qps: must be an integer"),
    ({**HEAD, "limits": [{**SERVER, "qps": 2**31}]}, "limits[0].qps: must be at most 2147483647"),
    ({**HEAD, "limits": [{**SERVER, "type": "User", "cacheSize": -1}]}, "limits[0].cacheSize: must not be negative"),
]


def event(user: str = "bob", namespace: str = "ns", version: str = "v1", **obj: Any) -> Attributes:
    return attributes("CREATE", "events", version, namespace=namespace, user=UserInfo(name=user), obj=obj)


ABOUT = {"kind": "Pod", "namespace": "ns", "name": "p", "uid": "1", "apiVersion": "v1"}
SOURCE = {"component": "agent", "host": "n"}

KEYS: list[tuple[str, Attributes, Attributes, str]] = [
    ("Server", event(), event(user="eve", namespace="other"), ""),
    ("Namespace", event(), event(user="eve"), "ns"),
    ("User", event(), event(namespace="other"), "bob"),
    (
        "SourceAndObject",
        event(source=SOURCE, involvedObject=ABOUT),
        event(user="eve", version=NEW, deprecatedSource=SOURCE, regarding=ABOUT),
        "agentnPodnsp1v1",
    ),
]
OTHERS: list[tuple[str, Attributes]] = [
    ("Namespace", event(namespace="other")),
    ("User", event(user="eve")),
    ("SourceAndObject", event(source=SOURCE, involvedObject={**ABOUT, "uid": "2"})),
    ("SourceAndObject", event(source={"component": "other"}, involvedObject=ABOUT)),
]


class EventRateLimitTests(SynchronousTestCase):
    """The plugin in a chain."""

    def setUp(self) -> None:
        self.clock = Clock()

    def chain(self, *limits: Limit) -> Chain:
        events = frozenset({"events", "events.events.orch.io"})
        return Chain([EventRateLimit(limits, self.clock.seconds, events)])

    def passes(self, chain: Chain, asked: Attributes) -> str:
        """Return the reason for refusing an event, or "" if it passes."""
        done = pass_chain(chain, asked)
        failures: list[Any] = []
        done.addErrback(failures.append)
        if not failures:
            return ""
        failures[0].trap(TooManyRequests)
        message: str = failures[0].value.message
        return message

    def test_keys(self) -> None:
        """Buckets of each type have the right keys."""
        for kind, first, same, key in KEYS:
            chain = self.chain(Limit(type=kind, qps=1, burst=1))
            self.assertEqual(self.passes(chain, first), "")
            why = f"Too many requests: limit reached on type {kind} for key {key}"
            self.assertEqual(self.passes(chain, same), why)
            for other_kind, other in OTHERS:
                if kind == other_kind:
                    self.assertEqual(self.passes(chain, other), "")

    def test_several(self) -> None:
        """All limits count every event, and each that is reached is named."""
        chain = self.chain(
            Limit(type="Server", qps=1, burst=2),
            Limit(type="User", qps=1, burst=1),
        )
        self.assertEqual(self.passes(chain, event()), "")
        user = "limit reached on type User for key bob"
        self.assertEqual(self.passes(chain, event()), f"Too many requests: {user}")
        both = f"Too many requests: [limit reached on type Server for key , {user}]"
        self.assertEqual(self.passes(chain, event()), both)

    def test_time(self) -> None:
        """Tokens come back with time, up to the burst."""
        chain = self.chain(Limit(type="Server", qps=2, burst=3))
        self.assertEqual([bool(self.passes(chain, event())) for _ in range(4)], [False, False, False, True])
        self.clock.advance(0.5)
        self.assertEqual([bool(self.passes(chain, event())) for _ in range(2)], [False, True])
        self.clock.advance(3600)
        self.assertEqual([bool(self.passes(chain, event())) for _ in range(4)], [False, False, False, True])

    def test_not_limited(self) -> None:
        """Dry runs, deletions and other kinds pass and count nothing."""
        chain = self.chain(Limit(type="Server", qps=1, burst=1))
        for asked in (
            *(attributes("CREATE", "events", namespace="ns", obj={}, dry_run=True) for _ in range(3)),
            attributes("DELETE", "events", namespace="ns", old={}),
            attributes("CREATE", "pods", namespace="ns", obj={}),
        ):
            self.assertEqual(self.passes(chain, asked), "")
        update = attributes("UPDATE", "events", namespace="ns", obj={}, old={})
        self.assertEqual(self.passes(chain, update), "")
        self.assertNotEqual(self.passes(chain, update), "")

    def test_least_recent(self) -> None:
        """Of too many keys the one that was used least recently is forgotten, and begins anew."""
        buckets = Buckets(Limit(type="User", qps=1, burst=1, size=2), self.clock.seconds)
        found = [buckets.take(key) for key in ("a", "b", "a", "c", "a", "b")]
        self.assertEqual(found, [True, True, False, True, False, True])
        for number in range(100):
            buckets.take("x" * 10_000 + str(number))
        self.assertEqual(len(buckets), 2)

    def test_configuration(self) -> None:
        """Each mistake has its line, and no configuration is one."""
        for obj, line in WRONG:
            error = self.assertRaises(ConfigError, read, configured(obj))
            self.assertTrue(str(error).startswith(f"/etc/orch/plugin.yaml: {line}"), str(error))
        self.assertIn("no config specified", str(self.assertRaises(ConfigError, read, None)))
        limits = [{**SERVER, "cacheSize": -5}, {**SERVER, "type": "User"}, {**SERVER, "type": "User", "cacheSize": 7}]
        found = read(configured({**HEAD, "limits": limits}))
        self.assertEqual([each.size for each in found], [1, 4096, 7])
        self.assertEqual((found[0].qps, found[0].burst), (1, 2))

    def test_processes(self) -> None:
        """With `--workers` each process has its part of what the whole server lets in (reference STORE-35)."""
        whole = Limit(type="Server", qps=3, burst=5)
        self.assertEqual(share(whole, 2), Limit(type="Server", qps=1.5, burst=3))
        self.assertEqual(share(whole, 1), whole)
        users = Limit(type="User", qps=3, burst=5)
        self.assertEqual(share(users, 2), users)


class ServedTests(PluginCase):
    """The plugin in a whole server."""

    name = "EventRateLimit"
    configuration = {**HEAD, "limits": [{"type": "Namespace", "qps": 1, "burst": 2}]}  # noqa: RUF012

    def test_refused(self) -> None:
        """The third event at once is a 429, in whichever group; a second later there is room for one."""
        old = {"involvedObject": {"namespace": "default"}}
        new = {"regarding": {"namespace": "default"}, "eventTime": "2026-01-01T00:00:00.000000Z"}
        new = {**new, "reportingController": "a.b/c", "reportingInstance": "i", "action": "a", "reason": "r"}
        new = {**new, "type": "Normal"}
        self.done("POST", "events", {"metadata": {"name": "a"}, **old})
        self.done("POST", "/apis/events.orch.io/v1/namespaces/default/events", {"metadata": {"name": "b"}, **new})
        answer = self.send("POST", "events", {"metadata": {"name": "c"}, **old})
        self.assertEqual((answer.code, answer.json["reason"]), (429, "TooManyRequests"))
        why = "Too many requests: limit reached on type Namespace for key default"
        self.assertEqual(answer.json["message"], why)
        self.assertNotIn("details", answer.json)
        self.clock.advance(1)
        self.done("POST", "events", {"metadata": {"name": "c"}, **old})
