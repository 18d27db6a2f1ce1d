"""Roles and bindings in a whole server: permission to write them, their immediate effect, and the start."""
# covers: orchtw.authz.escalation

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson
from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.testing import MemoryReactorClock
from twisted.trial.unittest import SynchronousTestCase

from orchtw.assembly.membership import ServerKeys
from orchtw.authz.rbac import MAX_ROUNDS
from orchtw.bootstrap.server_leases import ServerPlace
from orchtw.config import Config
from orchtw.errors import TooManyRequests
from orchtw.naming.naming import Naming
from orchtw.registry.offload import Offload
from orchtw.request import Peer, Request
from orchtw.rules import rbac
from orchtw.server import Server
from orchtw.storage.cache.resource import DamagedObject
from orchtw.wire.objects import Object
from tests.client.world import MemoryStore

PLACE, KEYS = ServerPlace("127.0.0.1", 1), ServerKeys(secret=b"s" * 32)

GROUP = "rbac.authorization.orch.io"
ALL = f"/apis/{GROUP}/v1"
HERE = f"{ALL}/namespaces/default"
MAPS = "/api/v1/namespaces/default/configmaps"
APPLY = "application/apply-patch+yaml"
PODS: Object = {"verbs": ["get"], "apiGroups": [""], "resources": ["pods"]}
EVERYTHING: Object = {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}
MANY = [f"thing-{number}" for number in range(10_000)]
HELD = (
    'user "bob" (groups=["dev" "system:authenticated"]) is attempting to grant RBAC permissions not currently held:'
)


def rule(verbs: str, resources: str, group: str = GROUP) -> Object:
    """A rule, of words."""
    return {"verbs": verbs.split(), "apiGroups": [group], "resources": resources.split()}


class RbacCase(SynchronousTestCase):
    """A server with an administrator, and with bob, who has the roles that a test gives him."""

    def setUp(self) -> None:
        self.patch(Offload, "start", lambda offload: None)  # no threads: large work is done at once as well
        self.clock: Any = MemoryReactorClock()
        self.store = MemoryStore(self.clock)
        tokens = Path(self.mktemp())
        tokens.write_text('admin,admin,1,"system:masters"\nbob,bob,2,"dev"\n')
        self.config = Config.of(token_auth_file=tokens)
        self.start()
        self.addCleanup(lambda: self.run_to_end(self.instance.lifecycle.stop()))

    def start(self) -> None:
        """Start a server on the store."""
        self.instance = Server(
            self.config, Naming.orch(), self.clock, store=self.store, place=PLACE, keys=KEYS
        )
        self.run_to_end(self.instance.lifecycle.start())

    def restart(self) -> None:
        """Another start, with the same store."""
        self.run_to_end(self.instance.lifecycle.stop())
        self.start()

    def run_to_end(self, work: Any) -> Any:
        done = Deferred.fromCoroutine(work)
        for _ in range(1000):
            if done.called:
                break
            self.clock.advance(0.001)
        return self.successResultOf(done)

    def ask(
        self, method: str, url: str, body: Any = None, who: str = "bob", content: str = "application/json"
    ) -> tuple[int, Any]:
        """Code and body of an answer."""
        response = self.run_to_end(self.instance.front.app(self.request(method, url, body, who, content)))
        found = response.body if isinstance(response.body, bytes) else b"".join(response.body)
        return response.code, orjson.loads(found) if response.content_type == "application/json" else found.decode()

    def later(self, method: str, url: str, body: Any) -> Deferred[Any]:
        """The answer that bob will get."""
        return Deferred.fromCoroutine(self.instance.front.app(self.request(method, url, body, "bob")))

    @staticmethod
    def request(method: str, url: str, body: Any, who: str, content: str = "application/json") -> Request:
        path, _, query = url.partition("?")
        data = b"" if body is None else orjson.dumps(body)
        headers = {"content-type": content, **({"authorization": f"Bearer {who}"} if who else {})}
        return Request(
            method=method, path=path, query=query, headers=headers, body=data, peer=Peer(address="", port=0)
        )

    def done(self, method: str, url: str, body: Any = None, content: str = "application/json") -> Any:
        """Return the answer to the administrator's request, which must succeed."""
        code, answer = self.ask(method, url, body, "admin", content)
        self.assertIn(code, (200, 201), answer)
        return answer

    def give(self, *rules: Object, name: str = "bobs", namespace: str = "") -> None:
        """Give bob rules, in the whole cluster or in a namespace."""
        place = f"{ALL}/namespaces/{namespace}/" if namespace else f"{ALL}/cluster"
        kind = "Role" if namespace else "ClusterRole"
        self.done("PUT", f"{place}roles/{name}", {"metadata": {"name": name}, "rules": list(rules)})
        self.done("PUT", f"{place}rolebindings/{name}", binding(name, name, kind=kind))

    def refused(self, answer: tuple[int, Any], message: str, code: int = 403) -> None:
        """The answer is a refusal with that text."""
        self.assertEqual((answer[0], answer[1].get("message")), (code, message))


def role(name: str, *rules: Object, **more: Any) -> Object:
    """A role of either kind."""
    return {"metadata": {"name": name}, "rules": list(rules), **more}


def binding(name: str, to: str, user: str = "bob", kind: str = "ClusterRole") -> Object:
    """A binding of either kind."""
    subject = {"kind": "User", "name": user, "apiGroup": GROUP}
    return {
        "metadata": {"name": name},
        "roleRef": {"apiGroup": GROUP, "kind": kind, "name": to},
        "subjects": [subject],
    }


class EscalationTests(RbacCase):
    def setUp(self) -> None:
        super().setUp()
        self.give(rule("get create update patch", "roles rolebindings clusterroles clusterrolebindings"))

    def test_role(self) -> None:
        """A role may grant only rights that its writer holds in its scope (reference AUTHZ-20, AUTHZ-21)."""
        message = f'roles.{GROUP} "x" is forbidden: {HELD}\n{{APIGroups:[""], Resources:["pods"], Verbs:["get"]}}'
        self.refused(self.ask("POST", f"{HERE}/roles", role("x", PODS)), message)
        self.refused(self.ask("POST", f"{HERE}/roles?dryRun=All", role("x", PODS)), message)
        self.refused(self.ask("PUT", f"{HERE}/roles/x", role("x", PODS)), message)
        applied = {"apiVersion": f"{GROUP}/v1", "kind": "Role", **role("x", PODS)}
        self.refused(self.ask("PATCH", f"{HERE}/roles/x?fieldManager=m", applied, content=APPLY), message)
        self.give(PODS, name="pods", namespace="default")
        self.assertEqual(self.ask("POST", f"{HERE}/roles", role("x", PODS))[0], 201)
        wide = {**PODS, "verbs": ["get", "list", "*"], "resourceNames": ["a"]}
        self.refused(
            self.ask("PUT", f"{HERE}/roles/x", role("x", wide)),
            f'roles.{GROUP} "x" is forbidden: {HELD}\n'
            '{APIGroups:[""], Resources:["pods"], ResourceNames:["a"], Verbs:["list" "*"]}',
        )
        code, answer = self.ask("POST", f"{ALL}/clusterroles", role("x", PODS))
        self.assertEqual((code, answer["message"][:46]), (403, f'clusterroles.{GROUP} "x" is fo'[:46]))

    def test_update_for_the_collector(self) -> None:
        """Any writer may change owners and finalizers of a role, but not its labels (reference AUTHZ-20)."""
        self.done("POST", f"{ALL}/clusterroles", role("x", EVERYTHING))
        merge = "application/merge-patch+json"
        collected = {"metadata": {"finalizers": ["example.com/f"]}}
        self.assertEqual(self.ask("PATCH", f"{ALL}/clusterroles/x", collected, content=merge)[0], 200)
        labelled = {"metadata": {"labels": {f"{GROUP}/aggregate-to-view": "true"}}}
        self.assertEqual(self.ask("PATCH", f"{ALL}/clusterroles/x", labelled, content=merge)[0], 403)

    def test_escalate(self) -> None:
        """Verb escalate on the role lets its holder write any rules (reference AUTHZ-20)."""
        self.give(rule("escalate", "clusterroles"), name="more")
        self.assertEqual(self.ask("POST", f"{ALL}/clusterroles", role("x", EVERYTHING))[0], 201)
        self.assertEqual(self.ask("POST", f"{HERE}/roles", role("x", EVERYTHING))[0], 403)

    def test_aggregation(self) -> None:
        """An aggregationRule is for administrators (reference AUTHZ-22)."""
        aggregation = {"clusterRoleSelectors": [{"matchLabels": {"a": "b"}}]}
        why = "must have cluster-admin privileges to use the aggregationRule"
        message = f'clusterroles.{GROUP} "x" is forbidden: {why}'
        self.refused(self.ask("POST", f"{ALL}/clusterroles", role("x", aggregationRule=aggregation)), message)
        self.done("POST", f"{ALL}/clusterroles", role("x", aggregationRule=aggregation))
        self.refused(self.ask("PUT", f"{ALL}/clusterroles/x", role("x")), message)
        self.give(EVERYTHING, {"verbs": ["*"], "nonResourceURLs": ["*"]}, name="everything")
        self.assertEqual(self.ask("PUT", f"{ALL}/clusterroles/x", role("x"))[0], 200)

    def test_binding(self) -> None:
        """A binding may grant only rights that its writer holds, unless he may bind the role (reference AUTHZ-23)."""
        self.done("POST", f"{ALL}/clusterroles", role("pods", PODS))
        text = f'{HELD}\n{{APIGroups:[""], Resources:["pods"], Verbs:["get"]}}'
        self.refused(
            self.ask("POST", f"{HERE}/rolebindings", binding("x", "pods", "eve")),
            f'rolebindings.{GROUP} "x" is forbidden: {text}',
        )
        self.refused(
            self.ask("POST", f"{ALL}/clusterrolebindings", binding("x", "pods", "eve")),
            f'clusterrolebindings.{GROUP} "x" is forbidden: {text}',
        )
        self.give({**rule("bind", "clusterroles"), "resourceNames": ["pods"]}, name="may-bind", namespace="default")
        self.assertEqual(self.ask("POST", f"{HERE}/rolebindings", binding("x", "pods", "eve"))[0], 201)
        self.assertEqual(self.ask("POST", f"{HERE}/rolebindings", binding("y", "admin", "eve"))[0], 403)
        self.assertEqual(self.ask("POST", f"{ALL}/clusterrolebindings", binding("x", "pods", "eve"))[0], 403)

    def test_missing_role(self) -> None:
        """A role that is not there is a 404 for those without bind (reference AUTHZ-23)."""
        for kind, plural in (("Role", "roles"), ("ClusterRole", "clusterroles")):
            answer = self.ask("POST", f"{HERE}/rolebindings", binding("x", "gone", kind=kind))
            self.refused(answer, f'{plural}.{GROUP} "gone" not found', 404)
        self.assertEqual(self.ask("POST", f"{HERE}/rolebindings", binding("x", "gone"), "admin")[0], 201)

    def test_unresolved(self) -> None:
        """A refusal to a user with a binding to a missing role reports the missing role too."""
        self.done("POST", f"{ALL}/clusterrolebindings", binding("dangling", "gone"))
        message = self.ask("POST", f"{HERE}/roles", role("x", PODS))[1]["message"]
        self.assertTrue(message.endswith(f'; resolution errors: [clusterrole.{GROUP} "gone" not found]'), message)

    def test_more_than_can_be_compared(self) -> None:
        """Rules that multiply are refused at once."""
        many = " ".join(map(str, range(200)))
        answer = self.ask("POST", f"{HERE}/roles", role("x", {**rule(many, many), "apiGroups": many.split()}))
        self.assertEqual(answer[0], 403)
        self.assertIn("combinations", answer[1]["message"])

    def test_more_than_can_be_compared_with_everything(self) -> None:
        """An aggregationRule of a user with too many rules is refused too."""
        self.give(PODS, rule("create", "clusterroles"), name="several")
        self.patch(rbac, "MAX_STEPS", 1)
        aggregation = {"clusterRoleSelectors": [{"matchLabels": {"a": "b"}}]}
        answer = self.ask("POST", f"{ALL}/clusterroles", role("x", aggregationRule=aggregation))
        self.assertEqual(answer[0], 403)
        self.assertIn("too many rules to compare", answer[1]["message"])


class RightsTests(RbacCase):
    def test_at_once(self) -> None:
        """A binding counts from the moment its writer is answered until it is gone (reference AUTHZ-16)."""
        self.assertEqual(self.ask("GET", MAPS)[0], 403)
        self.done("POST", f"{HERE}/rolebindings", binding("x", "view"))
        self.assertEqual(self.ask("GET", MAPS)[0], 200)
        self.done("PUT", f"{HERE}/rolebindings/x", binding("x", "view", "eve"))
        self.assertEqual(self.ask("GET", MAPS)[0], 403)

    def test_create_by_update(self) -> None:
        """A PUT or an apply that creates needs create as well (reference AUTHZ-3, PATCH-7, ERR-11)."""
        self.give(rule("get update patch", "roles"), EVERYTHING | {"apiGroups": [""]}, namespace="default")
        message = (
            f'roles.{GROUP} "x" is forbidden: User "bob" cannot create resource "roles" in API group "{GROUP}" '
            'in the namespace "default"'
        )
        applied = {"apiVersion": f"{GROUP}/v1", "kind": "Role", **role("x")}
        self.refused(self.ask("PUT", f"{HERE}/roles/x", role("x")), message)
        self.refused(self.ask("PUT", f"{HERE}/roles/x?dryRun=All", role("x")), message)
        self.refused(self.ask("PATCH", f"{HERE}/roles/x?fieldManager=m", applied, content=APPLY), message)
        self.done("POST", f"{HERE}/roles", role("x"))
        self.assertEqual(self.ask("PUT", f"{HERE}/roles/x", role("x"))[0], 200)

    def test_rules_review(self) -> None:
        """A rules review lists what the user's roles allow (reference AUTHZ-29)."""
        self.give(PODS, namespace="default")
        path = "/apis/authorization.orch.io/v1/selfsubjectrulesreviews"
        status = self.ask("POST", path, {"spec": {"namespace": "default"}})[1]["status"]
        self.assertIn({"verbs": ["get"], "apiGroups": [""], "resources": ["pods"]}, status["resourceRules"])
        self.assertFalse(status["incomplete"])
        self.assertTrue(any("/api/*" in each["nonResourceURLs"] for each in status["nonResourceRules"]))

    def test_health(self) -> None:
        """Everybody may ask for health, nobody unknown for discovery (reference ROLE-3, ROLE-5)."""
        self.assertEqual([self.ask("GET", path, who="")[0] for path in ("/healthz", "/api")], [200, 403])


class LargeTests(RbacCase):
    """Roles and bindings too large to parse on the reactor are parsed in a thread (reference AUTHZ-16)."""

    def setUp(self) -> None:
        super().setUp()
        self.works: list[Any] = []

        async def run(size_bytes: int, work: Any) -> Any:
            done: Deferred[None] = Deferred()
            self.works.append(done)
            await done
            return work()

        self.instance.roles.large.run = run

    def read(self) -> None:
        """Everything that is to be read is read now."""
        while self.works:
            self.works.pop(0).callback(None)
            self.clock.advance(0.01)

    def give_many(self, *resources: str) -> None:
        """A large role for bob, with these resources of the core group to list."""
        self.give({"verbs": ["list"], "apiGroups": [""], "resources": [*resources, *MANY]})

    def waits(self, url: str = MAPS) -> Deferred[Any]:
        """The answer to bob's GET, which has yet to come."""
        asked = self.later("GET", url, None)
        self.clock.advance(0.1)
        self.assertNoResult(asked)
        return asked

    def code(self, asked: Deferred[Any]) -> int:
        """The code of the answer that has come."""
        self.clock.advance(0.1)
        code: int = self.successResultOf(asked).code
        return code

    def test_role(self) -> None:
        """A user's request waits until its large role has been parsed, then uses its rules (reference AUTHZ-39)."""
        self.give_many("configmaps")
        asked = self.waits()
        self.read()
        self.assertEqual(self.code(asked), 200)
        self.assertEqual(self.ask("GET", MAPS)[0], 200)
        self.done("PUT", f"{ALL}/clusterroles/bobs", role("bobs"))
        self.assertEqual(self.ask("GET", MAPS)[0], 403)

    def test_role_changes_while_it_is_read(self) -> None:
        """Rules removed during parsing grant nothing; rules added during it do (reference AUTHZ-39)."""
        self.give_many("configmaps")
        asked = self.waits()
        self.give_many("secrets")
        secrets = self.waits("/api/v1/namespaces/default/secrets")
        self.read()
        self.assertEqual((self.code(asked), self.code(secrets)), (403, 200))

    def test_role_goes_while_it_is_read(self) -> None:
        """Without the role there is nothing to wait for (reference AUTHZ-39)."""
        self.give_many("configmaps")
        asked = self.waits()
        self.done("DELETE", f"{ALL}/clusterroles/bobs")
        self.assertEqual(self.code(asked), 403)
        self.read()
        self.assertEqual(self.ask("GET", MAPS)[0], 403)

    def test_nobody_else_waits(self) -> None:
        """Neither do others wait, nor who has the right by another role (reference AUTHZ-39)."""
        self.give_many("configmaps")
        self.give(rule("list", "secrets", ""), name="few")
        waiting = self.waits()
        self.assertEqual(self.ask("GET", "/api/v1/namespaces/default/secrets")[0], 200)
        self.assertEqual(self.ask("GET", "/api/v1/namespaces/default/secrets", who="")[0], 403)
        self.read()
        self.assertEqual(self.code(waiting), 200)

    def test_binding(self) -> None:
        """A large binding applies in its namespace; its subjects' requests there wait for it (reference AUTHZ-39)."""
        self.done("POST", f"{ALL}/clusterroles", role("maps", rule("list", "configmaps", "")))
        large = binding("large", "maps")
        others = [{"kind": "User", "name": f"user-{number}", "apiGroup": GROUP} for number in range(3000)]
        self.done("POST", f"{HERE}/rolebindings", {**large, "subjects": [*others, *large["subjects"]]})
        asked = self.waits()
        self.assertEqual(self.ask("GET", "/api/v1/namespaces/kube-public/configmaps")[0], 403)
        self.read()
        self.assertEqual(self.code(asked), 200)
        self.done("PUT", f"{HERE}/rolebindings/large", {**large, "subjects": others})
        asked = self.waits()
        self.read()
        self.assertEqual(self.code(asked), 403)

    def test_bound(self) -> None:
        """Constant changes to a role do not delay its users for ever (reference AUTHZ-39)."""
        self.give_many("secrets")
        asked = self.waits()
        for number in range(MAX_ROUNDS):
            self.assertNoResult(asked)
            self.give_many(f"secrets-{number}")
        self.assertEqual(self.code(asked), 403)

    def test_busy(self) -> None:
        """A large role is parsed at once when the thread takes no more work (reference AUTHZ-39)."""
        self.give_many("configmaps")
        asked = self.waits()
        self.works.pop().errback(TooManyRequests("too many", {}))
        self.assertEqual(self.code(asked), 200)

    def test_damaged(self) -> None:
        """A role that cannot be parsed grants nothing, and no request waits for it any more."""
        self.give_many("configmaps")
        asked = self.waits()
        self.works.pop().errback(DamagedObject("role", 1))
        self.assertEqual(self.code(asked), 403)
        self.assertEqual(self.ask("GET", MAPS)[0], 403)
        self.assertEqual(len(self.flushLoggedErrors(DamagedObject)), 1)

    def test_leaves(self) -> None:
        """A client that disconnects while it waits is released."""
        self.give_many("configmaps")
        asked = self.waits()
        asked.cancel()
        self.failureResultOf(asked, CancelledError)
        self.read()
        self.assertEqual(self.ask("GET", MAPS)[0], 200)

    def test_rules_review(self) -> None:
        """A rules review says that something is missing while a large role is read (reference AUTHZ-29)."""
        self.give_many("configmaps")
        path, spec = "/apis/authorization.orch.io/v1/selfsubjectrulesreviews", {"spec": {"namespace": "default"}}
        self.assertTrue(self.ask("POST", path, spec)[1]["status"]["incomplete"])
        self.read()
        status = self.ask("POST", path, spec)[1]["status"]
        self.assertFalse(status["incomplete"])
        self.assertTrue(any("configmaps" in each["resources"] for each in status["resourceRules"]))

    def test_handing_on(self) -> None:
        """A grant of a large role is compared with the granter's own rules, however long parsing takes."""
        self.give(rule("create", "rolebindings"))
        self.done("POST", f"{ALL}/clusterroles", role("large", rule("get", " ".join(MANY))))
        asked = self.later("POST", f"{HERE}/rolebindings", binding("x", "large", "eve"))
        self.clock.advance(0.1)
        self.assertNoResult(asked)
        self.works.pop().callback(None)
        self.clock.advance(0.1)
        self.assertEqual(self.successResultOf(asked).code, 403)


class BootstrapTests(RbacCase):
    def role(self, name: str) -> Any:
        return self.done("GET", f"{ALL}/clusterroles/{name}")

    def test_made(self) -> None:
        """The roles and bindings of every installation are there, marked, and the hook has ended (ROLE-1)."""
        counts = {
            path: len(self.done("GET", f"{ALL}/{path}")["items"])
            for path in ("clusterroles", "clusterrolebindings", "roles", "rolebindings")
        }
        self.assertEqual(list(counts.values()), [62, 43, 7, 7])
        meta = self.role("system:node")["metadata"]
        self.assertEqual(meta["labels"], {"orch.io/bootstrapping": "rbac-defaults"})
        self.assertEqual(meta["annotations"], {f"{GROUP}/autoupdate": "true"})
        self.assertIn("[+]poststarthook/rbac/bootstrap-roles ok", self.ask("GET", "/readyz?verbose", who="admin")[1])

    def test_gathered(self) -> None:
        """The roles admin, edit and view aggregate the roles labelled for them (reference ROLE-7, CTRL-29)."""
        for _ in range(20):
            self.clock.advance(0.1)
        sizes = [len(self.role(name)["rules"]) for name in ("admin", "edit", "view")]
        self.assertTrue(sizes[0] > sizes[1] > sizes[2] > 5, sizes)

    def test_completed(self) -> None:
        """A start adds what is missing and keeps what is there beyond it (reference ROLE-2)."""
        live = self.role("system:node-proxier")
        mine = {"verbs": ["get"], "apiGroups": ["example.com"], "resources": ["things"]}
        self.done("PUT", f"{ALL}/clusterroles/system:node-proxier", {**live, "rules": [mine, *live["rules"][1:]]})
        path = f"{ALL}/clusterrolebindings/system:volume-scheduler"
        self.done("PUT", path, binding("system:volume-scheduler", "system:volume-scheduler"))
        self.done("DELETE", f"{ALL}/clusterroles/system:heapster")
        self.restart()
        rules = self.role("system:node-proxier")["rules"]
        self.assertEqual(rules[0], mine)
        self.assertIn({"verbs": ["list"], "apiGroups": [""], "resources": ["services"]}, rules)
        subjects = [each["name"] for each in self.done("GET", path)["subjects"]]
        self.assertEqual(subjects, ["bob", "system:orch-scheduler"])
        self.role("system:heapster")
        version = self.role("system:node-proxier")["metadata"]["resourceVersion"]
        self.restart()
        self.assertEqual(self.role("system:node-proxier")["metadata"]["resourceVersion"], version)

    def test_left_alone(self) -> None:
        """An object that opts out is left alone; deleted objects return only at the next start (reference ROLE-2)."""
        live = self.role("system:basic-user")
        live["metadata"]["annotations"][f"{GROUP}/autoupdate"] = "false"
        self.done("PUT", f"{ALL}/clusterroles/system:basic-user", {**live, "rules": []})
        self.done("DELETE", f"{ALL}/clusterroles/system:heapster")
        for _ in range(70):
            self.clock.advance(1)
        self.assertEqual(self.ask("GET", f"{ALL}/clusterroles/system:heapster", who="admin")[0], 404)
        self.restart()
        self.assertFalse(self.role("system:basic-user").get("rules"))

    def test_another_role(self) -> None:
        """A binding to another role is made anew (reference ROLE-2)."""
        path = f"{ALL}/clusterrolebindings/system:discovery"
        self.done("DELETE", path)
        self.done("POST", f"{ALL}/clusterrolebindings", binding("system:discovery", "view"))
        self.restart()
        found = self.done("GET", path)
        self.assertEqual(found["roleRef"]["name"], "system:discovery")
        self.assertEqual([each["name"] for each in found["subjects"]], ["system:authenticated"])
