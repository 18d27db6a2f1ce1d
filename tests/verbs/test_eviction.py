"""Evictions: deletions that disruption budgets may refuse (reference KIND-23)."""

from __future__ import annotations

from typing import Any

from orchtw.errors import Forbidden
from orchtw.verbs.eviction import check_budget
from tests.emulated import since
from tests.verbs.answered import Case

PODS = "/api/v1/namespaces/default/pods"
BUDGETS = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"
EVICTION = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "p"}}
REFUSED = "Cannot evict pod as it would violate the pod's disruption budget."
MERGE = {"content-type": "application/merge-patch+json"}
SPEC = {"nodeName": "n", "containers": [{"name": "c", "image": "i"}]}


class EvictionTests(Case):
    async def pod(self, phase: str = "Running", ready: bool = True, **labels: str) -> None:
        """Pod `p`, which runs on a node."""
        await self.send("POST", PODS, 201, {"metadata": {"name": "p", "labels": labels}, "spec": SPEC})
        pod = (await self.send("GET", f"{PODS}/p", 200)).json
        status = {"phase": phase, "conditions": [{"type": "Ready", "status": str(ready)}]}
        await self.send("PUT", f"{PODS}/p/status", 200, {**pod, "status": status})

    async def budget(self, name: str = "b", **status: Any) -> None:
        """A budget for pods with `app: web`, whose controller has said this."""
        spec = {"selector": {"matchLabels": {"app": "web"}}}
        budget = (await self.send("POST", BUDGETS, 201, {"metadata": {"name": name}, "spec": spec})).json
        counts = {"disruptionsAllowed": 0, "currentHealthy": 1, "desiredHealthy": 1, "expectedPods": 1}
        said = {"observedGeneration": 1, **counts, **status}
        await self.send("PUT", f"{BUDGETS}/{name}/status", 200, {**budget, "status": said})

    async def evict(self, code: int, body: Any = EVICTION, query: str = "") -> Any:
        """Ask for the eviction; the Status of the answer."""
        return (await self.send("POST", f"{PODS}/p/eviction{query}", code, body)).json

    async def charged(self) -> tuple[int, list[str]]:
        """Return the disruptions that the budget still allows, and its disrupted pods."""
        status = (await self.send("GET", f"{BUDGETS}/b", 200)).json["status"]
        return status["disruptionsAllowed"], list(status.get("disruptedPods") or {})

    async def is_going(self) -> bool:
        """Report whether the pod is being deleted, or is gone."""
        answer = await self.server.request("GET", f"{PODS}/p")
        return answer.code == 404 or "deletionTimestamp" in answer.json["metadata"]

    async def test_without_budget(self) -> None:
        """A pod that no budget selects is deleted."""
        await self.pod(app="db")
        await self.budget()
        status = await self.evict(201)
        self.assertEqual((status["kind"], status["status"]), ("Status", "Success"))
        self.assertTrue(await self.is_going())

    async def test_allowed(self) -> None:
        """An allowed eviction takes one disruption from the budget and notes the pod there."""
        await self.pod(app="web")
        await self.budget(disruptionsAllowed=2)
        await self.evict(201)
        self.assertEqual(await self.charged(), (1, ["p"]))
        self.assertTrue(await self.is_going())

    async def test_used_up(self) -> None:
        """A budget that is used up refuses with 429 and says what it needs; the pod stays (reference ERR-36)."""
        await self.pod(app="web")
        await self.budget(desiredHealthy=3, currentHealthy=2)
        status = await self.evict(429)
        self.assertEqual((status["reason"], status["message"]), ("TooManyRequests", REFUSED))
        (cause,) = status["details"]["causes"]
        self.assertEqual(
            (cause["reason"], cause["message"]),
            ("DisruptionBudget", "The disruption budget b needs 3 healthy pods and has 2 currently"),
        )
        self.assertNotIn("retryAfterSeconds", status["details"])
        self.assertFalse(await self.is_going())

    async def test_not_yet_observed(self) -> None:
        """A budget whose controller has not seen its latest generation refuses for some seconds."""
        await self.pod(app="web")
        await self.budget(observedGeneration=0, disruptionsAllowed=1)
        status = await self.evict(429)
        self.assertEqual(status["details"]["retryAfterSeconds"], 10)
        self.assertIn("is still being processed", status["details"]["causes"][0]["message"])

    async def test_unready(self) -> None:
        """A pod that is not ready costs a budget nothing that has enough healthy ones."""
        await self.budget(desiredHealthy=2, currentHealthy=2)
        await self.pod(ready=False, app="web")
        await self.evict(201)
        self.assertEqual(await self.charged(), (0, []))
        self.assertTrue(await self.is_going())

    async def test_unready_and_needed(self) -> None:
        """Without enough healthy pods an unready one is protected as all are."""
        await self.budget(desiredHealthy=3, currentHealthy=2)
        await self.pod(ready=False, app="web")
        await self.evict(429)

    @since((1, 26))
    async def test_unready_and_let_go(self) -> None:
        """By the policy AlwaysAllow an unready pod goes at any time, and costs nothing (reference KIND-23)."""
        await self.budget(desiredHealthy=3, currentHealthy=2)
        await self.pod(ready=False, app="web")
        for policy, code in (("IfHealthyBudget", 429), ("AlwaysAllow", 201)):
            change = {"spec": {"unhealthyPodEvictionPolicy": policy}}
            await self.send("PATCH", f"{BUDGETS}/b", 200, change, MERGE)
            await self.evict(code)
        self.assertEqual(await self.charged(), (0, []))
        self.assertTrue(await self.is_going())

    @since((1, 26))
    async def test_ready_and_needed(self) -> None:
        """The policy is about unready pods: ready ones are protected as before (reference KIND-98)."""
        await self.budget()
        await self.pod(app="web")
        await self.send("PATCH", f"{BUDGETS}/b", 200, {"spec": {"unhealthyPodEvictionPolicy": "AlwaysAllow"}}, MERGE)
        self.assertIn("budget", (await self.evict(429))["message"])

    async def test_every_pod(self) -> None:
        """An empty selector means every pod of the namespace in policy/v1, and none in policy/v1beta1."""
        await self.pod(app="web")
        older = BUDGETS.replace("v1/", "v1beta1/", 1)
        await self.send("POST", older, 201, {"metadata": {"name": "older"}, "spec": {"selector": {}}})
        await self.evict(201, query="?dryRun=All")
        await self.send("POST", BUDGETS, 201, {"metadata": {"name": "b"}, "spec": {"selector": {}}})
        await self.evict(429)

    def test_broken_budgets(self) -> None:
        """A budget with impossible figures, or with too many evictions to confirm, refuses with 403."""
        budget = {"metadata": {"name": "b"}}
        crowd = dict.fromkeys(map(str, range(2001)), "2024-05-06T07:08:09Z")
        for status, why in [({"disruptionsAllowed": -1}, "is negative"), ({"disruptedPods": crowd}, "map too big")]:
            self.assertIn(why, self.assertRaises(Forbidden, check_budget, budget, status).message)

    async def test_out_of_order(self) -> None:
        """More than one budget for a pod is the server's failure to serve it: 500."""
        await self.pod(app="web")
        await self.budget(disruptionsAllowed=1)
        await self.budget("second", disruptionsAllowed=1)
        self.assertIn("more than one PodDisruptionBudget", (await self.evict(500))["message"])
        self.assertEqual(await self.charged(), (1, []))

    async def test_finished_pods(self) -> None:
        """A pod that does not run (any more) costs no budget anything."""
        await self.budget()
        for phase in ("Pending", "Succeeded", "Failed"):
            await self.pod(phase, app="web")
            await self.evict(201)
            self.assertEqual(await self.charged(), (0, []))
            await self.server.request("DELETE", f"{PODS}/p?gracePeriodSeconds=0")

    async def test_dry_run(self) -> None:
        """Nothing happens in a dry run, by the query or by the options in the body."""
        await self.pod(app="web")
        await self.budget(disruptionsAllowed=1)
        await self.evict(201, query="?dryRun=All")
        await self.evict(201, {**EVICTION, "deleteOptions": {"dryRun": ["All"]}})
        self.assertEqual(await self.charged(), (1, []))
        self.assertFalse(await self.is_going())

    async def test_options(self) -> None:
        """The options of the deletion come with the eviction."""
        await self.pod(app="db")
        await self.evict(409, {**EVICTION, "deleteOptions": {"preconditions": {"uid": "other"}}})
        await self.evict(201, {**EVICTION, "deleteOptions": {"gracePeriodSeconds": 7}})
        meta = (await self.send("GET", f"{PODS}/p", 200)).json["metadata"]
        self.assertEqual(meta["deletionGracePeriodSeconds"], 7)

    async def test_names(self) -> None:
        """The pod is that of the path; an eviction may leave its name out, but not name another one."""
        await self.pod(app="db")
        await self.evict(400, {**EVICTION, "metadata": {"name": "q"}})
        await self.evict(201, {**EVICTION, "metadata": {}})

    async def test_older_version(self) -> None:
        """An Eviction of policy/v1beta1 is understood as well."""
        await self.pod(app="db")
        await self.evict(201, {**EVICTION, "apiVersion": "policy/v1beta1"})

    async def test_missing_pod(self) -> None:
        """A pod that is not there cannot be evicted."""
        self.assertEqual((await self.evict(404))["details"]["kind"], "pods")
