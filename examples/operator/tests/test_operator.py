"""Tests of the operator, as its users see it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from conftest import USER, WEBSITES, Make
from website_operator.operator import Operator

from orchtw.testing import ApiServer, absent

PATCH = "application/merge-patch+json"


def ready(website: Any) -> bool:
    """Report whether the operator has done all that the present generation asks for."""
    status = website["status"]
    return status["observedGeneration"] == website["metadata"]["generation"] and _is_true(status)


def _is_true(status: Any) -> bool:
    return [each["status"] for each in status["conditions"] if each["type"] == "Ready"] == ["True"]


def change(server: ApiServer, path: str, patch: Any) -> Any:
    """Merge a patch into an object."""
    return server.request("PATCH", path, patch, PATCH).checked(path).json


@pytest.fixture
def shop(orch_namespace: str) -> str:
    """Path of the website `shop`."""
    return WEBSITES.format(namespace=orch_namespace) + "/shop"


class TestLife:
    """From creation to deletion."""

    def test_pages(self, orch: ApiServer, orch_namespace: str, operator: Operator, make: Make) -> None:
        make(index="hello")
        pages = orch.eventually("configmaps/shop-pages", namespace=orch_namespace)
        assert pages["data"] == {"index.html": "hello"}

    def test_owner(self, orch: ApiServer, orch_namespace: str, operator: Operator, make: Make) -> None:
        website = make()
        pages = orch.eventually("configmaps/shop-pages", namespace=orch_namespace)
        (owner,) = pages["metadata"]["ownerReferences"]
        assert (owner["uid"], owner["controller"]) == (website["metadata"]["uid"], True)

    def test_record(self, orch: ApiServer, orch_namespace: str, operator: Operator, make: Make) -> None:
        make(host="a.example.com")
        record = orch.eventually("configmaps/a.example.com", namespace="dns")
        assert record["data"] == {"website": f"{orch_namespace}/shop"}

    def test_status(self, orch: ApiServer, orch_namespace: str, operator: Operator, make: Make) -> None:
        make(index="a", about="b")
        website = orch.eventually("websites/shop", ready, namespace=orch_namespace)
        assert website["status"]["pages"] == 2

    def test_update(self, orch: ApiServer, orch_namespace: str, operator: Operator, make: Make, shop: str) -> None:
        make(index="a")
        orch.eventually("websites/shop", ready, namespace=orch_namespace)
        change(orch, shop, {"spec": {"pages": {"index.html": "b"}}})
        orch.eventually(
            "configmaps/shop-pages", lambda pages: pages["data"] == {"index.html": "b"}, namespace=orch_namespace
        )
        assert orch.eventually("websites/shop", ready, namespace=orch_namespace)["metadata"]["generation"] == 2

    def test_deletion(self, orch: ApiServer, orch_namespace: str, operator: Operator, make: Make, shop: str) -> None:
        make()
        orch.eventually("websites/shop", ready, namespace=orch_namespace)
        orch.request("DELETE", shop).checked("deletion")
        orch.eventually("websites/shop", absent, namespace=orch_namespace)
        assert orch.reader().list("configmaps", "dns", labels="", fields="metadata.name=shop.example.com") == []

    def test_garbage(self, orch: ApiServer, orch_namespace: str, operator: Operator, make: Make, shop: str) -> None:
        make()
        orch.eventually("websites/shop", ready, namespace=orch_namespace)
        orch.request("DELETE", shop).checked("deletion")
        orch.eventually("configmaps/shop-pages", absent, namespace=orch_namespace)

    def test_namespace(self, orch: ApiServer, orch_namespace: str, operator: Operator, make: Make) -> None:
        make()
        orch.eventually("websites/shop", ready, namespace=orch_namespace)
        orch.request("DELETE", f"/api/v1/namespaces/{orch_namespace}").checked("deletion")
        orch.eventually(f"namespaces/{orch_namespace}", absent)


class TestDrift:
    """Changes by other writers, and none of its own."""

    def test_removed_pages(self, orch: ApiServer, orch_namespace: str, operator: Operator, make: Make) -> None:
        make(index="a")
        first = orch.eventually("configmaps/shop-pages", namespace=orch_namespace)
        orch.eventually("websites/shop", ready, namespace=orch_namespace)
        orch.request("DELETE", f"/api/v1/namespaces/{orch_namespace}/configmaps/shop-pages").checked("deletion")
        orch.eventually(
            "configmaps/shop-pages",
            lambda pages: pages["metadata"]["uid"] != first["metadata"]["uid"],
            namespace=orch_namespace,
        )

    def test_changed_pages(self, orch: ApiServer, orch_namespace: str, operator: Operator, make: Make) -> None:
        make(index="a")
        orch.eventually("websites/shop", ready, namespace=orch_namespace)
        path = f"/api/v1/namespaces/{orch_namespace}/configmaps/shop-pages"
        revision = int(change(orch, path, {"data": {"index.html": "x"}})["metadata"]["resourceVersion"])
        orch.eventually(
            "configmaps/shop-pages", lambda pages: pages["data"]["index.html"] == "a", namespace=orch_namespace
        )
        (mended,) = orch.writes(USER, since=revision, resource="configmaps")
        assert [str(each) for each in mended.changes] == ['$.data["index.html"]: "x" → "a"']

    def test_name_taken(self, orch: ApiServer, orch_namespace: str, operator: Operator, make: Make) -> None:
        path = f"/api/v1/namespaces/{orch_namespace}/configmaps"
        orch.request("POST", path, {"metadata": {"name": "shop-pages"}, "data": {"a": "b"}}).checked("pages")
        make(index="a")
        website = orch.eventually("websites/shop", lambda found: "status" in found, namespace=orch_namespace)
        assert website["status"]["conditions"][0]["reason"] == "NameTaken"
        assert orch.reader().get("configmaps/shop-pages", orch_namespace)["data"] == {"a": "b"}

    def test_writes_nothing_twice(
        self, orch: ApiServer, orch_namespace: str, operator: Operator, make: Make, shop: str
    ) -> None:
        make(index="a")
        orch.eventually("websites/shop", ready, namespace=orch_namespace)
        mark = orch.revision()
        change(orch, shop, {"metadata": {"labels": {"seen": "again"}}})  # wakes the operator
        orch.quiet(0.1, user=USER)
        assert orch.writes(USER, since=mark) == []


class TestApi:
    """The definition and its webhook."""

    def test_bad_host(self, orch: ApiServer, orch_namespace: str) -> None:
        meta, spec = {"name": "x"}, {"host": "A!"}
        website = {"apiVersion": "example.com/v1", "kind": "Website", "metadata": meta, "spec": spec}
        answer = orch.request("POST", WEBSITES.format(namespace=orch_namespace), website)
        assert answer.code == 422

    def test_host_stays(self, orch: ApiServer, orch_namespace: str, make: Make, shop: str) -> None:
        make()
        answer = orch.request("PATCH", shop, {"spec": {"host": "b.example.com"}}, PATCH)
        assert "does not move to another host" in answer.json["message"]

    def test_old_version(self, orch: ApiServer, orch_namespace: str, make: Make, shop: str) -> None:
        make(index="a", about="b")
        old = shop.replace("/v1/", "/v1alpha1/")
        assert orch.request("GET", old).json["spec"] == {"hostname": "shop.example.com", "index": "a"}
        change(orch, old, {"spec": {"index": "c"}})
        assert orch.request("GET", shop).json["spec"]["pages"] == {"index.html": "c", "about.html": "b"}

    def test_rights(self, orch: ApiServer, orch_namespace: str, operator: Operator, make: Make) -> None:
        make()
        orch.eventually("websites/shop", ready, namespace=orch_namespace)
        rights = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/website-operator"
        orch.request("DELETE", rights).checked("deletion")
        make("late")
        orch.quiet(0.1, user=USER)


class TestFaults:
    """An API that is not at its best."""

    @pytest.mark.parametrize(
        "fault",
        [
            {"status": 409, "verb": "update", "times": 2},
            {"status": 429, "verb": "create", "times": 2},
            {"status": 500, "times": 3},
            {"fault": "reset", "when": "after", "verb": "create", "times": 1},
        ],
        ids=["conflict", "throttled", "failing", "stored-but-not-answered"],
    )
    def test_done_all_the_same(
        self, orch: ApiServer, orch_namespace: str, operator: Operator, make: Make, fault: Any
    ) -> None:
        added = orch.faults.add(user=USER, **fault)
        make(index="a")
        orch.eventually("websites/shop", ready, namespace=orch_namespace)
        assert [(each.id, each.rule["struck"] > 0) for each in orch.faults.list()] == [(added.id, True)]

    def test_expired_watch(self, orch: ApiServer, orch_namespace: str, operator: Operator, make: Make) -> None:
        make("first")
        orch.eventually("websites/first", ready, namespace=orch_namespace)
        state = orch.snapshot()
        orch.restore(state)  # ends all watches with a 410
        orch.release(state)
        make("second")
        orch.eventually("websites/second", ready, namespace=orch_namespace)

    @pytest.mark.parametrize("seed", [1, 2])
    def test_chaos(self, orch: ApiServer, orch_namespace: str, operator: Operator, make: Make, seed: int) -> None:
        orch.faults.chaos(seed, user=USER)
        for name in ("a", "b", "c"):
            make(name)
        for name in ("a", "b", "c"):
            orch.eventually(f"websites/{name}", ready, namespace=orch_namespace)


class TestRestart:
    """The operator ends and begins again."""

    def test_misses_nothing(
        self, orch: ApiServer, orch_namespace: str, start: Callable[[], Operator], make: Make, shop: str
    ) -> None:
        first = start()
        make(index="a")
        orch.eventually("websites/shop", ready, namespace=orch_namespace)
        first.stop()
        change(orch, shop, {"spec": {"pages": {"index.html": "b"}}})
        make("other")
        start()
        orch.eventually("websites/shop", ready, namespace=orch_namespace)
        orch.eventually("websites/other", ready, namespace=orch_namespace)

    def test_finishes_deletions(
        self, orch: ApiServer, orch_namespace: str, start: Callable[[], Operator], make: Make, shop: str
    ) -> None:
        first = start()
        make()
        orch.eventually("websites/shop", ready, namespace=orch_namespace)
        first.stop()
        orch.request("DELETE", shop).checked("deletion")
        start()
        orch.eventually("websites/shop", absent, namespace=orch_namespace)
