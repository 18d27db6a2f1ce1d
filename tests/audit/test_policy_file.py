"""The policy file: its contents, and its errors (reference AUDIT-8, AUDIT-10)."""

from __future__ import annotations

from pathlib import Path

from twisted.logger import capturedLogs
from twisted.trial.unittest import SynchronousTestCase

from orchtw.audit.policy import METADATA, NONE, REQUEST, AuditPolicy, PolicyOutcome
from orchtw.audit.policy_file import load
from orchtw.errors import ConfigError
from orchtw.naming.naming import Naming
from orchtw.request import UserInfo
from orchtw.rules.request_info import parse

HEAD = "apiVersion: audit.orch.io/v1\nkind: Policy\n"
USER = UserInfo(name="amy")


class PolicyFileTests(SynchronousTestCase):
    """Audit policy files (`load`)."""

    def file(self, text: str) -> Path:
        path = Path(self.mktemp())
        path.write_text(text)
        return path

    def policy(self, text: str, naming: Naming | None = None) -> AuditPolicy:
        return load(self.file(text), naming or Naming.orch())

    def outcome(self, policy: AuditPolicy, path: str) -> PolicyOutcome:
        return policy.outcome(USER, parse("GET", path, {}))

    def assertProblems(self, text: str, *problems: str) -> None:
        path = self.file(text)
        error = self.assertRaises(ConfigError, load, path, Naming.orch())
        expected = tuple(f"--audit-policy-file: {each.replace('PATH', str(path))}" for each in problems)
        self.assertEqual(error.problems, expected)

    def test_overrides(self) -> None:
        """A rule's omitted stages add to the policy's; its setting for managed fields overrides the policy's."""
        policy = self.policy(
            f"{HEAD}omitStages: [RequestReceived]\nomitManagedFields: true\nrules:\n"
            "- {level: Request, nonResourceURLs: [/a], omitStages: [Panic], omitManagedFields: false}\n"
            "- {level: Metadata}\n"
        )
        self.assertEqual(
            self.outcome(policy, "/a"),
            PolicyOutcome(
                level=REQUEST, omit_stages=frozenset({"RequestReceived", "Panic"}), omit_managed_fields=False
            ),
        )
        self.assertEqual(
            self.outcome(policy, "/b"),
            PolicyOutcome(level=METADATA, omit_stages=frozenset({"RequestReceived"}), omit_managed_fields=True),
        )

    def test_vocabularies(self) -> None:
        """A policy of either vocabulary is read, and its API groups are those of the server's."""
        text = "rules:\n- {level: Metadata, resources: [{group: GROUP}]}\n"
        path = "/apis/{}/v1/roles"
        names = {naming.vocabulary: naming for naming in (Naming.orch(), Naming.kubernetes())}
        for written in names.values():
            group = written.group("rbac.authorization.orch.io")
            head = f"apiVersion: {written.group('audit.orch.io')}/v1\nkind: Policy\n"
            for served in names.values():
                policy = self.policy(head + text.replace("GROUP", group), served)
                asked = path.format(served.group("rbac.authorization.orch.io"))
                self.assertEqual(self.outcome(policy, asked).level, METADATA)
                self.assertEqual(self.outcome(policy, "/api/v1/pods").level, NONE)

    def test_example(self) -> None:
        """The policy of the handbook is one, and keeps Secrets out of its bodies."""
        text = (Path(__file__).parents[2] / "docs" / "operating" / "monitoring.md").read_text()
        policy = self.policy(text.split("<!-- example: audit policy -->\n```yaml\n")[1].split("```")[0])
        levels = [self.outcome(policy, path).level for path in ("/livez", "/api/v1/secrets", "/api/v1/pods")]
        self.assertEqual(levels, [NONE, METADATA, METADATA])
        self.assertEqual(policy.outcome(USER, parse("POST", "/api/v1/pods", {})).level, REQUEST)

    def test_json(self) -> None:
        """A policy file in JSON is accepted, as JSON is YAML."""
        policy = self.policy('{"apiVersion":"audit.orch.io/v1","kind":"Policy","rules":[{"level":"Metadata"}]}')
        self.assertEqual(self.outcome(policy, "/x").level, METADATA)

    def test_unknown_fields(self) -> None:
        """Fields that are unknown or come twice are read over, as the release does, and named in the log."""
        with capturedLogs() as logged:
            self.policy(f"{HEAD}rules:\n- {{level: Metadata, user: [a], level: None}}\n")
        self.assertEqual([each.get("name") or each["what"] for each in logged],
                         ['"rules[0].user"', 'line 4: key "level" already set in map'])

    def test_problems(self) -> None:
        """Each problem of a policy is one line that names its place."""
        rules = f"{HEAD}rules:\n"
        for text, problems in (
            (HEAD, ["loaded illegal policy with 0 rules: from file PATH"]),
            (f"{rules}- {{}}\n", ["rules[0].level: Required value: from file PATH"]),
            (
                f"{rules}- {{level: All}}\n- {{level: None, nonResourceURLs: [a, /b*c]}}\n",
                [
                    'rules[0].level: Unsupported value: "All": supported values: "None", "Metadata", "Request", '
                    '"RequestResponse": from file PATH',
                    'rules[1].nonResourceURLs[0]: Invalid value: "a": non-resource URL rules must begin with a \'/\' '
                    "character: from file PATH",
                    'rules[1].nonResourceURLs[1]: Invalid value: "/b*c": non-resource URL wildcards \'*\' must be '
                    "the final character of the rule: from file PATH",
                ],
            ),
            (
                f"{HEAD}omitStages: [All]\nrules:\n- {{level: None, omitStages: [Panic, x]}}\n",
                [
                    f'{place}: Invalid value: "{value}": allowed stages are RequestReceived,ResponseStarted,'
                    "ResponseComplete,Panic: from file PATH"
                    for place, value in (("omitStages[0]", "All"), ("rules[0].omitStages[1]", "x"))
                ],
            ),
            (
                f"{rules}- {{level: None, nonResourceURLs: [/a], namespaces: [b]}}\n",
                [
                    'rules[0].nonResourceURLs: Invalid value: []string{"/a"}: rules cannot apply to both regular '
                    "resources and non-resource URLs: from file PATH"
                ],
            ),
            (
                f"{rules}- {{level: None, resources: [{{resourceNames: [x]}}]}}\n",
                [
                    'rules[0].resources[0].resourceNames: Invalid value: []string{"x"}: using resourceNames requires '
                    "at least one resource: from file PATH"
                ],
            ),
            ("kind: Policy\n", ["PATH: Object 'apiVersion' is missing"]),
            ("apiVersion: audit.orch.io/v1\n", ["PATH: Object 'Kind' is missing"]),
            (
                "apiVersion: audit.orch.io/v1beta1\nkind: Policy\n",
                [
                    'PATH: no kind "Policy" is registered for version "audit.orch.io/v1beta1": use Policy of '
                    "audit.orch.io/v1"
                ],
            ),
            (f"{HEAD}rules: x\n", ["PATH: rules: must be a list"]),
            (f"{HEAD}rules:\n- {{level: None, users: x}}\n", ["PATH: rules[0].users: must be a list"]),
            ("- a\n", ["PATH: must be a mapping"]),
        ):
            self.assertProblems(text, *problems)

    def test_unreadable(self) -> None:
        """A file that is not there, or is not YAML, ends the start with one line."""
        error = self.assertRaises(ConfigError, load, Path("/nowhere/p"), Naming.orch())
        text = '--audit-policy-file: failed to read file path "/nowhere/p": No such file or directory'
        self.assertEqual(str(error), text)
        error = self.assertRaises(ConfigError, load, self.file("a: ["), Naming.orch())
        self.assertTrue(str(error).startswith("--audit-policy-file: failed decoding: "), error)
        self.assertEqual(len(error.problems), 1)
