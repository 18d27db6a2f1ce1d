"""POST, PUT, PATCH and DELETE as they are answered (reference WRITE-5, WRITE-9, PATCH-2, DEL-4, DEL-12)."""

from __future__ import annotations

from typing import Any

from orchtw.storage.etcd.status import TOO_LARGE, EtcdTooLarge
from orchtw.storage.store import Op
from orchtw.writes import drafts
from tests.emulated import since
from tests.verbs.objects import config_map
from tests.verbs.served import APPLY, MERGE, ServedCase

LEASES = "/apis/coordination.orch.io/v1/namespaces/default/leases"


class CreateTests(ServedCase):
    def test_created(self) -> None:
        """201 and the stored object; the same name again is a 409."""
        answer = self.send("POST", "configmaps", config_map())
        self.assertEqual((answer.code, answer.json), (201, self.done("GET", "configmaps/x")))
        self.assertEqual(self.code("POST", "configmaps", config_map()), 409)

    def test_dry_run(self) -> None:
        """201 and an object without version; nothing is stored."""
        answer = self.send("POST", "configmaps?dryRun=All", config_map())
        self.assertEqual(answer.code, 201)
        self.assertNotIn("resourceVersion", answer.json["metadata"])
        self.assertEqual(self.code("GET", "configmaps/x"), 404)
        self.assertEqual(self.code("POST", "configmaps?dryRun=Some", config_map()), 422)

    def test_generated_name(self) -> None:
        """A generated name that is taken is a 409 that asks to try again (reference OBJ-30)."""
        self.patch(drafts, "generate_name", lambda base, random: f"{base}12345")
        body = {"metadata": {"generateName": "web-"}}
        self.assertEqual(self.done("POST", "configmaps", body)["metadata"]["name"], "web-12345")
        answer = self.send("POST", "configmaps", body)
        self.assertEqual((answer.code, answer.json["reason"]), (409, "AlreadyExists"))
        text = "the server was not able to generate a unique name for the object"
        self.assertEqual(answer.json["message"], f'configmaps "web-12345" already exists, {text}')
        details = {"name": "web-12345", "kind": "configmaps", "retryAfterSeconds": 1}
        self.assertEqual((answer.json["details"], answer.headers["retry-after"]), (details, "1"))

    @since((1, 30))
    def test_another_generated_name(self) -> None:
        """A generated name that is taken is replaced, by the eighth at last (reference WRITE-30)."""
        made: list[str] = []

        def generated(base: str, random: object) -> str:
            made.append(f"{base}{min(len(made), 7)}")
            return made[-1]

        self.patch(drafts, "generate_name", generated)
        for number in range(7):
            self.done("POST", "configmaps", config_map(f"web-{number}"))
        body = {"metadata": {"generateName": "web-"}}
        self.assertEqual(self.done("POST", "configmaps", body)["metadata"]["name"], "web-7")
        self.assertEqual(len(made), 8)
        del made[:]
        self.assertEqual(self.code("POST", "configmaps", body), 409)
        self.assertEqual(len(made), 8)


class EarlierCreateTests(ServedCase):
    """A server that emulates a release before 1.30."""

    more = {"emulated_version": "1.29"}

    def test_one_generated_name(self) -> None:
        """The first generated name that is taken is a 409: no other is tried (reference OBJ-30, WRITE-30)."""
        made: list[str] = []

        def generated(base: str, random: object) -> str:
            made.append(f"{base}{len(made)}")
            return made[-1]

        self.patch(drafts, "generate_name", generated)
        self.done("POST", "configmaps", config_map("web-0"))
        self.assertEqual(self.code("POST", "configmaps", {"metadata": {"generateName": "web-"}}), 409)
        self.assertEqual(made, ["web-0"])


class UpdateTests(ServedCase):
    def setUp(self) -> None:
        super().setUp()
        self.made = self.done("POST", "configmaps", config_map())

    def test_replaced(self) -> None:
        """200 and the new object; the version that was replaced is a 409 from then on."""
        changed = {**self.made, "data": {"key": "new"}}
        self.assertEqual(self.done("PUT", "configmaps/x", changed)["data"], {"key": "new"})
        self.assertEqual(self.code("PUT", "configmaps/x", changed), 409)

    def test_dry_run(self) -> None:
        """200 and the change, which is not stored."""
        changed = {**self.made, "data": {"key": "new"}}
        self.assertEqual(self.done("PUT", "configmaps/x?dryRun=All", changed)["data"], {"key": "new"})
        self.assertEqual(self.done("GET", "configmaps/x"), self.made)

    def test_missing(self) -> None:
        """404, or 201 where the kind's PUT creates."""
        self.assertEqual(self.code("PUT", "configmaps/y", config_map("y")), 404)
        lease = {"metadata": {"name": "l"}, "spec": {"holderIdentity": "me"}}
        self.assertEqual(self.code("PUT", f"{LEASES}/l", lease), 201)
        self.assertEqual(self.code("PUT", f"{LEASES}/l", lease), 422)

    def test_patch(self) -> None:
        """A patch needs no version; one that names an old version is a 409."""
        patched = self.done("PATCH", "configmaps/x", {"data": {"a": "b"}}, MERGE)
        self.assertEqual(patched["data"], {"a": "b", "key": "old"})
        stale = {"metadata": {"resourceVersion": self.made["metadata"]["resourceVersion"]}, "data": {"a": "c"}}
        self.assertEqual(self.code("PATCH", "configmaps/x", stale, MERGE), 409)
        self.assertEqual(self.code("PATCH", "configmaps/y", {"data": {"a": "b"}}, MERGE), 404)

    def test_apply(self) -> None:
        """An apply creates (201) or changes (200)."""
        self.assertEqual(self.code("PATCH", "configmaps/y?fieldManager=me", config_map("y"), APPLY), 201)
        self.assertEqual(self.code("PATCH", "configmaps/y?fieldManager=me", config_map("y"), APPLY), 200)


class LargePatchTests(ServedCase):
    """Patches whose result is too large for the store because of its managed fields (reference PATCH-8)."""

    keys = {f"some-long-key-{number}": "" for number in range(2500)}

    def setUp(self) -> None:
        super().setUp()
        self.patch(drafts, "MAX_STORED_BYTES", 100_000)  # the keys need 60,000, and as many in managed fields
        self.done("POST", "configmaps", config_map())

    def test_stored_without_owners(self) -> None:
        """They are stored with empty managed fields, by every kind of patch; an apply may create so (PATCH-8)."""
        whole = {**config_map(), "data": self.keys}
        operations = [{"op": "add", "path": "/data", "value": self.keys}]
        for body, headers in (
            ({"data": self.keys}, MERGE),
            ({"data": self.keys}, {"content-type": "application/strategic-merge-patch+json"}),
            (operations, {"content-type": "application/json-patch+json"}),
            (whole, APPLY),
        ):
            self.done("PUT", "configmaps/x", config_map())
            query = "fieldManager=me&force=true" if headers is APPLY else "fieldManager=me"
            answer = self.done("PATCH", f"configmaps/x?{query}", body, headers)
            self.assertLessEqual(self.keys.keys(), answer["data"].keys())
            self.assertNotIn("managedFields", answer["metadata"])
            self.assertEqual(self.done("GET", "configmaps/x"), answer)
        self.done("DELETE", "configmaps/x")
        created = self.done("PATCH", "configmaps/x?fieldManager=me", whole, APPLY)
        self.assertNotIn("managedFields", created["metadata"])

    def test_still_too_large(self) -> None:
        """An object that is too large without them is a 413, and so is an update that is too large with them."""
        before = self.done("GET", "configmaps/x")
        answer = self.send("PATCH", "configmaps/x", {"data": {"key": "x" * 100_000}}, MERGE)
        self.assertEqual((answer.code, answer.json["reason"]), (413, "RequestEntityTooLarge"))
        self.assertEqual(self.code("PUT", "configmaps/x", {**config_map(), "data": self.keys}), 413)
        self.assertEqual(self.done("GET", "configmaps/x"), before)

    def test_limit_of_the_store(self) -> None:
        """The same where it is the store that says so, in its own words."""
        commit, refused = self.store.commit, list[Op]()

        def too_small(op: Op) -> Any:
            if refused:
                return commit(op)
            refused.append(op)
            raise EtcdTooLarge(TOO_LARGE)

        self.patch(self.store, "commit", too_small)
        answer = self.done("PATCH", "configmaps/x", {"data": {"a": "b"}}, MERGE)
        self.assertEqual((answer["data"], "managedFields" in answer["metadata"]), ({"key": "old", "a": "b"}, False))
        del refused[:]
        refusal = self.send("PUT", "configmaps/x", config_map())
        self.assertEqual((refusal.code, refusal.json["message"]), (500, TOO_LARGE))


class DeleteTests(ServedCase):
    def test_gone(self) -> None:
        """200 and a Status with the UID; then 404."""
        made = self.done("POST", "configmaps", config_map())
        status = self.done("DELETE", "configmaps/x")
        self.assertEqual((status["kind"], status["details"]["uid"]), ("Status", made["metadata"]["uid"]))
        self.assertEqual(self.code("DELETE", "configmaps/x"), 404)

    def test_held(self) -> None:
        """200 and the terminating object while a finalizer holds it; the patch that takes it off ends it."""
        self.done("POST", "configmaps", config_map(finalizers=["example.com/wait"]))
        self.assertIn("deletionTimestamp", self.done("DELETE", "configmaps/x")["metadata"])
        self.done("PATCH", "configmaps/x", {"metadata": {"finalizers": None}}, MERGE)
        self.assertEqual(self.code("GET", "configmaps/x"), 404)

    def test_precondition(self) -> None:
        """A UID that is not the object's is a 409, and it stays."""
        self.done("POST", "configmaps", config_map())
        self.assertEqual(self.code("DELETE", "configmaps/x", {"preconditions": {"uid": "other"}}), 409)
        self.assertEqual(self.code("GET", "configmaps/x"), 200)

    def test_grace(self) -> None:
        """A pod that a node runs is shown terminating; zero seconds end it, with the object as the answer."""
        spec = {"containers": [{"name": "c", "image": "i"}], "nodeName": "n"}
        self.done("POST", "pods", {"metadata": {"name": "p"}, "spec": spec})
        self.assertEqual(self.done("DELETE", "pods/p")["metadata"]["deletionGracePeriodSeconds"], 30)
        self.assertEqual(self.done("DELETE", "pods/p", {"gracePeriodSeconds": 0})["kind"], "Pod")
        self.assertEqual(self.code("GET", "pods/p"), 404)

    def test_dry_run(self) -> None:
        """A dry run deletes nothing, one object or all."""
        self.done("POST", "configmaps", config_map())
        for path in ("configmaps/x", "configmaps"):
            self.assertEqual(self.code("DELETE", f"{path}?dryRun=All"), 200)
        self.assertEqual(self.code("GET", "configmaps/x"), 200)

    def test_collection(self) -> None:
        """200 and the list of what is deleted; what is held begins to end."""
        self.done("POST", "configmaps", config_map("a"))
        self.done("POST", "configmaps", config_map("b", finalizers=["example.com/wait"]))
        answer = self.done("DELETE", "configmaps")
        self.assertEqual([each["metadata"]["name"] for each in answer["items"]], ["a", "b"])
        left = self.done("GET", "configmaps")["items"]
        self.assertEqual([each["metadata"]["name"] for each in left], ["b"])
        self.assertIn("deletionTimestamp", left[0]["metadata"])
