"""Limit ranges: defaults and limits (reference PLUG-33, PLUG-34, PLUG-62)."""

from __future__ import annotations

from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from orchtw.quota.limit_ranges import LimitRange, shown
from orchtw.wire.objects import Object


def limit_range(*items: Object) -> LimitRange:
    return LimitRange.of({"metadata": {"name": "lr"}, "spec": {"limits": list(items)}})


def container(name: str = "c", requests: Object | None = None, limits: Object | None = None) -> Object:
    given = {"limits": limits, "requests": requests}
    return {"name": name, "image": "i", "resources": {key: each for key, each in given.items() if each}}


def pod(*containers: Object, init: tuple[Object, ...] = ()) -> Object:
    return {"metadata": {"name": "p"}, "spec": {"containers": list(containers), "initContainers": list(init)}}


def asks(requests: Object | None = None, limits: Object | None = None) -> Object:
    return pod(container("c", requests, limits))


LEAST = {"type": "Container", "min": {"cpu": "100m"}}
MOST = {"type": "Container", "max": {"cpu": "1"}}
RATIO = {"type": "Container", "maxLimitRequestRatio": {"cpu": "2"}}
POD = {"type": "Pod", "max": {"cpu": "2", "memory": "2Gi"}}
SMALL = {"cpu": "1", "memory": "1Gi"}

ROWS: list[tuple[Object, Object, list[str]]] = [
    (LEAST, asks({"cpu": "100m"}), []),
    (LEAST, asks(), ["minimum cpu usage per Container is 100m.  No request is specified"]),
    (LEAST, asks({"cpu": "50m"}), ["minimum cpu usage per Container is 100m, but request is 50m"]),
    (LEAST, asks({"cpu": "0.1"}, {"cpu": "50m"}), ["minimum cpu usage per Container is 100m, but limit is 50m"]),
    (MOST, asks({"cpu": "1"}, {"cpu": "1000m"}), []),
    (MOST, asks(), ["maximum cpu usage per Container is 1.  No limit is specified"]),
    (MOST, asks({"cpu": "2"}, {"cpu": "2"}), ["maximum cpu usage per Container is 1, but limit is 2"]),
    (MOST, asks({"cpu": "2"}, {"cpu": "1"}), ["maximum cpu usage per Container is 1, but request is 2"]),
    (RATIO, asks({"cpu": "1"}, {"cpu": "2"}), []),
    (
        RATIO,
        asks({"cpu": "1"}, {"cpu": "4"}),
        ["cpu max limit to request ratio per Container is 2, but provided ratio is 4.000000"],
    ),
    (
        RATIO,
        asks({"cpu": "300m"}, {"cpu": "1"}),
        ["cpu max limit to request ratio per Container is 2, but provided ratio is 3.333333"],
    ),
    (
        RATIO,
        asks({}, {"cpu": "1"}),
        ["cpu max limit to request ratio per Container is 2, but no request is specified or request is 0"],
    ),
    (
        RATIO,
        asks({"cpu": "0"}, {"cpu": "1"}),
        ["cpu max limit to request ratio per Container is 2, but no request is specified or request is 0"],
    ),
    (
        RATIO,
        asks({"cpu": "1"}),
        ["cpu max limit to request ratio per Container is 2, but no limit is specified or limit is 0"],
    ),
    (
        {"type": "Container", "maxLimitRequestRatio": {"cpu": "1.5"}},
        asks({"cpu": "1"}, {"cpu": "1600m"}),
        ["cpu max limit to request ratio per Container is 1500m, but provided ratio is 1.600000"],
    ),
    (
        {"type": "Container", "max": {"cpu": "1"}, "min": {"memory": "1Mi"}},
        asks(),
        [
            "minimum memory usage per Container is 1Mi.  No request is specified",
            "maximum cpu usage per Container is 1.  No limit is specified",
        ],
    ),
    (
        LEAST,
        pod(container("a", {"cpu": "1"}), init=(container("b", {"cpu": "50m"}),)),
        ["minimum cpu usage per Container is 100m, but request is 50m"],
    ),
    (
        LEAST,
        pod(container("a"), container("b")),
        ["minimum cpu usage per Container is 100m.  No request is specified"],
    ),
    (POD, pod(container("a", None, SMALL), container("b", None, SMALL)), []),
    (
        POD,
        pod(container("a", None, {"cpu": "1500m", "memory": "2Gi"}), container("b", None, SMALL)),
        [
            "maximum cpu usage per Pod is 2, but limit is 2500m",
            "maximum memory usage per Pod is 2Gi, but limit is 3221225472",
        ],
    ),
    (
        POD,
        pod(container("a", None, {"cpu": "1", "memory": "1Gi"}), container("b")),
        [
            "maximum cpu usage per Pod is 2.  No limit is specified",
            "maximum memory usage per Pod is 2Gi.  No limit is specified",
        ],
    ),
    (
        {"type": "Pod", "max": {"memory": "1Gi"}},
        pod(container("a", None, {"memory": "1"}), init=(container("b", None, {"memory": "2Gi"}),)),
        ["maximum memory usage per Pod is 1Gi, but limit is 2Gi"],
    ),
    (
        {"type": "Pod", "min": {"cpu": "1"}},
        pod(container("a", {"cpu": "400m"}), container("b", {"cpu": "500m"})),
        ["minimum cpu usage per Pod is 1, but request is 900m"],
    ),
    (
        {"type": "Pod", "maxLimitRequestRatio": {"memory": "1"}},
        asks({"memory": "1Gi"}, {"memory": "2Gi"}),
        ["memory max limit to request ratio per Pod is 1, but provided ratio is 2.000000"],
    ),
    ({"type": "PersistentVolumeClaim", "max": {"storage": "1"}}, asks(), []),
]
CLAIM = {"type": "PersistentVolumeClaim", "min": {"storage": "1Gi"}, "max": {"storage": "2Gi"}}
CLAIMS: list[tuple[Object, list[str]]] = [
    ({"storage": "1Gi"}, []),
    ({"storage": "5Gi"}, ["maximum storage usage per PersistentVolumeClaim is 2Gi, but request is 5Gi"]),
    ({"storage": "1Mi"}, ["minimum storage usage per PersistentVolumeClaim is 1Gi, but request is 1Mi"]),
    (
        {},
        [
            "minimum storage usage per PersistentVolumeClaim is 1Gi.  No request is specified",
            "maximum storage usage per PersistentVolumeClaim is 2Gi.  No request is specified",
        ],
    ),
]


class ProblemTests(SynchronousTestCase):
    def test_pods(self) -> None:
        """Containers and pods are held against least, most and ratio."""
        for item, obj, expected in ROWS:
            self.assertEqual(limit_range(item).pod_problems(obj), expected, f"{item} {obj}")

    def test_claims(self) -> None:
        """Claims are held against what they ask for."""
        for requests, expected in CLAIMS:
            claim = {"metadata": {}, "spec": {"resources": {"requests": requests}}}
            self.assertEqual(limit_range(LEAST, CLAIM).claim_problems(claim), expected)

    def test_shown(self) -> None:
        """One text stands alone, several in brackets."""
        self.assertEqual(shown(["a"]), "a")
        self.assertEqual(shown(["a", "b"]), "[a, b]")


class DefaultTests(SynchronousTestCase):
    def completed(self, obj: Object, *items: Object) -> tuple[Any, str]:
        given = limit_range(*items)
        found, note = given.complete(obj)
        return [each.get("resources") for each in found["spec"]["containers"]], note

    def test_fills(self) -> None:
        """Missing resources of containers are filled in and noted by container, requests first."""
        item = {
            "type": "Container", "default": {"cpu": "1", "memory": "1Gi"},
            "defaultRequest": {"cpu": "500m", "memory": "1Mi"},
        }  # fmt: skip
        found, note = self.completed(pod(container("a", {"memory": "5Mi"}, {"cpu": "2"}), container("b")), item)
        self.assertEqual(
            found,
            [
                {"limits": {"cpu": "2", "memory": "1Gi"}, "requests": {"cpu": "500m", "memory": "5Mi"}},
                {"limits": {"cpu": "1", "memory": "1Gi"}, "requests": {"cpu": "500m", "memory": "1Mi"}},
            ],
        )
        self.assertEqual(
            note,
            "LimitRanger plugin set: cpu request for container a; memory limit for container a; "
            "cpu, memory request for container b; cpu, memory limit for container b",
        )

    def test_init_containers(self) -> None:
        """Init containers get them too."""
        item = {"type": "Container", "default": {"cpu": "1"}}
        obj = pod(container("a", None, {"cpu": "1"}), init=(container("b"),))
        found, note = limit_range(item).complete(obj)
        self.assertEqual(found["spec"]["initContainers"][0]["resources"], {"limits": {"cpu": "1"}})
        self.assertEqual(note, "LimitRanger plugin set: cpu limit for init container b")
        self.assertIs(found["spec"]["containers"][0], obj["spec"]["containers"][0])
        self.assertEqual(obj["spec"]["initContainers"][0]["resources"], {})

    def test_nothing(self) -> None:
        """A pod that says all, and one where there are no defaults, stays as it is."""
        full = pod(container("a", None, {"cpu": "1"}))
        for item in ({"type": "Container", "default": {"cpu": "5"}}, {"type": "Pod", "max": {"cpu": "1"}}):
            found, note = limit_range(item).complete(full)
            self.assertIs(found, full)
            self.assertEqual(note, "")

    def test_last(self) -> None:
        """Of several items the last one with a default counts."""
        first, second = ({"type": "Container", "default": {"cpu": each}} for each in "12")
        self.assertEqual(self.completed(pod(container()), first, second)[0], [{"limits": {"cpu": "2"}}])
