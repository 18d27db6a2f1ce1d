"""Texts and numbers that have hurt servers before, and those that mean something to this one."""

from __future__ import annotations

import copy
from random import Random
from typing import Any, Final

NAMES: Final = ("a", "b", "c", "web-1", "x.y")
"""Few, so that requests meet each other's objects."""

BAD_NAMES: Final = ("A_B", "-", ".", "..", "a/b", "a%b", "ü", "n" * 254, "", " ", "a\u0000b", "system:x", "%2e%2e")

NAMESPACES: Final = ("fuzz-0", "fuzz-1", "fuzz-2")

TEXTS: Final = (
    "", "a", "web-1", "über", "\u4e2d\U0001f600", 'quo"te\\', "line\nbreak", "<&>\u2028", "k" * 130, "\x00", " ",
    "null", "~", "yes", "0x1F", "1e3", "%s{0}", "\ufeff", "\u202e", "\x7f", "x" * 3000, "True", "Foreground",
)  # fmt: skip

MEANT: Final = (
    "In", "NotIn", "Exists", "DoesNotExist", "Gt", "Foo", "Resource", "Pods", "Object", "External", "cpu",
    "Utilization",
    "AverageValue", "TCP", "UDP", "Always", "Never", "Pod", "Node", "v1", "apps/v1", "policy/v1beta1",
    "ServiceAccount",
    "User", "True", "False", "Ready", "Approved", "Running", "Succeeded", "Pending", "ClusterIP", "ExternalName",
    "matchLabels", "10.0.0.1", "::1", "50%", "orphan", "foregroundDeletion", "orch", "example.com/hold", "Opaque",
)  # fmt: skip

KEYS: Final = (
    "a", "app", "matchLabels", "matchExpressions", "x/y", "example.com/a", "A B", "", "orch.io/metadata.name",
    "topology.orch.io/zone", "orch.io/hostname", "autoscaling.alpha.orch.io/metrics",
    "autoscaling.alpha.orch.io/behavior",
    "autoscaling.alpha.orch.io/current-metrics", "autoscaling.alpha.orch.io/conditions", "node-role.orch.io/x",
    "pdb.orch.io/deprecated-v1beta1-empty-selector-match", "kubectl.orch.io/last-applied-configuration", "cpu",
    "memory",
)  # fmt: skip

ANNOTATIONS: Final = (
    "", "x", "[]", "{}", "null", "[null]", "[{}]", '[{"type":"Resource","resource":{"name":"cpu"}}]',
    '{"ScaleUp":{}}',
    '{"ScaleUp":{"Policies":[{}]}}', '{"ScaleUp":{"Policies":1}}', '[{"type":5}]',
    '[{"type":"Pods","pods":{"selector":1}}]',
    '{"ScaleDown":[]}', '[{"type":"Object","object":{"target":7}}]', '{"spec":{"replicas":1}}', "[" * 300, "true",
    "\\",
    '[{"type":"External","external":{"metricSelector":{"matchExpressions":5}}}]', '{"apiVersion":"v1","kind":"Pod"}',
    '[{"lastTransitionTime":"x"}]', '[{"lastTransitionTime":null,"type":null}]', '"' + "9" * 5000 + '"', "9" * 400,
)  # fmt: skip

TIMES: Final = (
    "2026-01-02T03:04:05Z", "2026-01-02T03:04:05.678901+02:00", "0001-01-01T00:00:00Z", "1969-12-31T23:59:59Z",
    "9999-12-31T23:59:59Z", "9999-12-31T23:59:59-23:59", "0001-01-01T00:00:00+23:59", "0000-01-01T00:00:00Z", "x", "",
    "2026-02-30T00:00:00Z", "2026-01-02T24:00:00Z", "2026-01-02t03:04:05z", "٢026-01-02T03:04:05Z",
)  # fmt: skip

QUANTITIES: Final = (
    "1000m", "0.5", "1024Ki", "1e3", "0", "-1.5Gi", "1.1n", "12E", "3e-7", ".5", 5, 0.25, "1000E", "1e2147483647",
    "1e-2147483648", "9" * 200, "9" * 300, "1e99999999999", "+1", "--1", "1Zi", "0.000000000000000000001", "٣", "1e",
    "99999999999999999999Ei", "-0", "0e5", "00001Ki",
)  # fmt: skip

DURATIONS: Final = (
    "1h0m0s", "90s", "-1.5h", "0", "100ms", "1us", "", "9223372036854775807ns", "9223372036854775808ns", "1h" * 200,
    ".5s", "1.s", "-", "1", "∞",
)  # fmt: skip

INT32: Final = (0, 1, 2, 80, 127, 128, 8080, 65535, 65536, -1, 2**31 - 1, -(2**31))
INT64: Final = (0, 1, 30, 300, -1, 2**31, 2**53 + 1, 2**63 - 1, -(2**63), 253402300800)
DOUBLES: Final = (0, 1.5, -3, 1e300, 2.0, 5e-324, -0.0)

_WRONG: Final[tuple[Any, ...]] = (
    None, True, False, 0, -1, 1.5, 1e30, 2**31, 2**63, 2**64, 10**31, -(10**31), 1e308, "", "x", [], {}, [None], [[]],
    {"": ""}, {"a": {"b": []}}, "9" * 5000, 0.1, [1, "a", None], {"key": 1}, {"matchLabels": 1}, "\ud800", -0.0,
)  # fmt: skip

STEPS: Final = (
    "f:metadata", "f:spec", "f:data", "f:labels", "f:a", "f:", ".", 'k:{"name":"c"}', 'k:{"containerPort":1e30}',
    "k:{", "k:[]",
    'k:{"uid":null}', 'v:"x"', "v:", "v:{}", "v:1e400", "i:0", "i:-1", "i:x", "i:" + "9" * 5000, "x:y", "", ":",
    "f", "k:null",
)  # fmt: skip
"""Keys of FieldsV1."""

VERSIONS: Final = (
    "0", "1", "3", "5", "-1", "abc", "9" * 5000, "٣", "1e3", "0x1", " 1", "+1", "00", "18446744073709551616",
)  # fmt: skip
FUTURE_VERSIONS: Final = ("18446744073709551615", "999999999")


def wrong(random: Random) -> Any:
    """A value that hardly fits anywhere, of the caller's own."""
    return copy.deepcopy(random.choice(_WRONG))
