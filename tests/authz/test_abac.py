"""Policies in a file: their parsing, and their decisions."""
# covers: orchtw.authz.abac_policy

from __future__ import annotations

from itertools import product
from pathlib import Path

import orjson
from twisted.trial.unittest import SynchronousTestCase

from orchtw.authn.method import ANONYMOUS
from orchtw.authz.abac import AbacPolicy, Policies
from orchtw.authz.abac_policy import load
from orchtw.authz.decision import PathRule, ResourceRule
from orchtw.errors import ConfigError
from orchtw.naming.naming import Naming
from orchtw.request import RequestInfo, UserInfo

AUTHENTICATED = "system:authenticated"
USERS = [
    ANONYMOUS,
    UserInfo(name="ann", groups=(AUTHENTICATED,)),
    UserInfo(name="bob", groups=("dev", AUTHENTICATED)),
    UserInfo(name="", groups=("dev",)),
]
REQUESTS = [
    RequestInfo(is_resource=True, verb=verb, path="", group=group, namespace=namespace, resource=resource)
    for verb, group, namespace, resource in product(
        ("get", "list", "watch", "create"), ("", "apps"), ("", "a"), ("pods", "secrets")
    )
] + [
    RequestInfo(is_resource=False, verb=verb, path=path)
    for verb, path in product(("get", "post"), ("/version", "/healthz/ping", "/"))
]


def line(**spec: object) -> str:
    """A line of the present form."""
    return orjson.dumps(
        {"apiVersion": "abac.authorization.orch.io/v1beta1", "kind": "Policy", "spec": spec}
    ).decode()


class ReadTests(SynchronousTestCase):
    def load(self, *lines: str, naming: Naming | None = None) -> list[AbacPolicy]:
        self.path = Path(self.mktemp())
        self.path.write_text("\n".join(lines))
        return load(self.path, naming or Naming.orch())

    def problem(self, *lines: str) -> str:
        """Return the problem with a file, without the flag and the file's name before it."""
        error: ConfigError = self.assertRaises(ConfigError, self.load, *lines)
        (problem,) = error.problems
        start = f"--authorization-policy-file: error reading policy file {self.path}, "
        self.assertEqual(problem[: len(start)], start)
        return problem[len(start) :]

    def test_lines(self) -> None:
        """Every field is read; blank lines and those that begin with # are skipped (reference AUTHZ-24)."""
        spec = {
            "user": "ann", "group": "dev", "readonly": True, "apiGroup": "apps", "resource": "pods",
            "namespace": "a", "nonResourcePath": "/x*",
        }  # fmt: skip
        whole = AbacPolicy(
            user="ann", group="dev", readonly=True, api_group="apps", resource="pods", namespace="a", path="/x*"
        )
        found = self.load("# a comment", "", "  \t", line(**spec), "  # another", line(user="bob") + "\r", "")
        self.assertEqual(found, [whole, AbacPolicy(user="bob")])

    def test_vocabulary(self) -> None:
        """With the other vocabulary the version has that one's group (reference VOC-1)."""
        text = line(user="bob").replace("orch.io", "kubernetes.io")
        self.assertEqual(self.load(text, naming=Naming.kubernetes()), [AbacPolicy(user="bob")])
        self.assertIn('no kind "Policy" is registered for version', self.problem(text))

    def test_anything(self) -> None:
        """`*` for user or group is every authenticated user, whatever the other says (reference AUTHZ-25)."""
        everybody = AbacPolicy(group=AUTHENTICATED)
        self.assertEqual(
            self.load(line(user="*"), line(group="*"), line(user="ann", group="*")), [everybody] * 3
        )

    def test_unversioned(self) -> None:
        """The oldest form is accepted: what it leaves out is anything, in every group (reference AUTHZ-24)."""
        found = self.load('{"user":"ann"}', "{}", '{"group":"dev","resource":"pods","readonly":true}')
        self.assertEqual(
            found,
            [
                AbacPolicy(user="ann", api_group="*", resource="*", namespace="*", path="*"),
                AbacPolicy(group=AUTHENTICATED, api_group="*", resource="*", namespace="*", path="*"),
                AbacPolicy(group="dev", readonly=True, api_group="*", resource="pods", namespace="*"),
            ],
        )

    def test_wrong_lines(self) -> None:
        """An error names file and line, and shows the line (reference AUTHZ-24)."""
        for text, why in (
            ("{", "is not JSON: "),
            ("[]", "is not a JSON object"),
            (line(user=1), "user must be a string"),
            (line(readonly="yes"), "readonly must be a boolean"),
            ('{"apiVersion":"v1","kind":"Pod"}', 'no kind "Pod" is registered for version "v1"'),
            ('{"kind":"Policy"}', "Object 'apiVersion' is missing"),
            ('{"apiVersion":"v1"}', "Object 'Kind' is missing"),
        ):
            problem = self.problem("# first", text)
            self.assertTrue(problem.startswith(f"line 2: {text}: {why}"), problem)

    def test_long_line(self) -> None:
        """Of a long line the error shows the beginning."""
        self.assertTrue(self.problem("[" * 10_000).startswith(f"line 1: {'[' * 200}...: is not JSON"))

    def test_no_file(self) -> None:
        """A file that cannot be read, or is not text, ends the start in one line."""
        missing = Path(self.mktemp())
        error: ConfigError = self.assertRaises(ConfigError, load, missing, Naming.orch())
        self.assertEqual(error.problems, (f"--authorization-policy-file: {missing}: No such file or directory",))
        missing.write_bytes(b"\xff")
        self.assertRaises(ConfigError, load, missing, Naming.orch())


class MatchTests(SynchronousTestCase):
    def test_matrix(self) -> None:
        """One line decides as its fields say, for every user and request (reference AUTHZ-25)."""
        specs = [
            dict(zip(("user", "group", "namespace", "resource", "apiGroup"), values, strict=True))
            for values in product(("", "*", "bob"), ("", "*", "dev"), ("", "*", "a"), ("*", "pods"), ("", "*"))
        ] + [{"user": "bob", "nonResourcePath": path} for path in ("", "*", "/version", "/healthz*", "/x*")]
        path = Path(self.mktemp())
        for spec in specs:
            for readonly in (False, True):
                path.write_text(line(**spec, readonly=readonly))
                policies = Policies(load(path, Naming.orch()))
                for user, info in product(USERS, REQUESTS):
                    allowed = policies.authorize(user, info).allowed
                    expected = _fits(spec, user, info) and (not readonly or info.verb in ("get", "list", "watch"))
                    self.assertEqual(allowed, expected or None, (spec, readonly, user, info))

    def test_no_opinion(self) -> None:
        """Without a line that fits there is no opinion, and a reason (reference AUTHZ-25)."""
        decision = Policies([AbacPolicy(user="ann")]).authorize(USERS[2], REQUESTS[0])
        self.assertEqual((decision.allowed, decision.reason), (None, "No policy matched."))

    def test_rules(self) -> None:
        """A rules review lists all of the user's rules (reference AUTHZ-29)."""
        policies = Policies(
            [
                AbacPolicy(user="bob", readonly=True, resource="pods", namespace="a"),
                AbacPolicy(group="dev", api_group="*", resource="*", namespace="*", path="/x*"),
                AbacPolicy(user="ann", resource="*", namespace="*"),
                AbacPolicy(user="bob", group="other", resource="*", namespace="*"),
            ]
        )
        rules = policies.rules_for(USERS[2], "a")
        pods = ResourceRule(verbs=("get", "list", "watch"), groups=("",), resources=("pods",))
        everything = ResourceRule(verbs=("*",), groups=("*",), resources=("*",))
        self.assertEqual((rules.resources, rules.incomplete, rules.error), ((pods, everything), False, ""))
        self.assertEqual(rules.paths, (PathRule(verbs=("*",), paths=("/x*",)),))
        self.assertEqual(policies.rules_for(USERS[2], "b").resources, (everything,))


def _fits(spec: dict[str, str], user: UserInfo, info: RequestInfo) -> bool:
    """The rule as the reference words it, without looking at the verb."""
    names, groups = spec.get("user", ""), spec.get("group", "")
    if "*" in (names, groups):
        subject = AUTHENTICATED in user.groups
    else:
        subject = bool(names or groups)
        subject = subject and (not names or names == user.name) and (not groups or groups in user.groups)
    if info.is_resource:
        asked = {"namespace": info.namespace, "resource": info.resource, "apiGroup": info.group}
        return subject and all(spec.get(name, "") in ("*", value) for name, value in asked.items())
    path = spec.get("nonResourcePath", "")
    return subject and (path == info.path or (path.endswith("*") and info.path.startswith(path[:-1])))
