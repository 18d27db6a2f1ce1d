"""Tests of ../tests in the shape of envtest.

Two have no counterpart: garbage is not collected there, and namespaces are not deleted.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest
from conftest import CONFIG_MAPS, WEBSITES, Admin, Faults, Refused, Send, chaos, eventually
from website_operator.operator import Operator

PATCH = "application/merge-patch+json"
QUIET_S = 0.3

Make = Callable[..., Any]
NewOperator = Callable[..., Operator]


@pytest.fixture
def websites(namespace: str) -> str:
    """Path of the namespace's websites."""
    return WEBSITES.format(namespace=namespace)


@pytest.fixture
def shop(websites: str) -> str:
    """Path of the website `shop`."""
    return f"{websites}/shop"


@pytest.fixture
def pages(namespace: str) -> str:
    """Path of the pages of `shop`."""
    return f"{CONFIG_MAPS.format(namespace=namespace)}/shop-pages"


def ready(admin: Admin, path: str) -> Any:
    """Wait until the operator has done what the website's generation asks for; return the website."""

    def done() -> Any:
        website = admin.get(path)
        status = website["status"]
        conditions = [each["status"] for each in status["conditions"] if each["type"] == "Ready"]
        current = status["observedGeneration"] == website["metadata"]["generation"]
        return website if current and conditions == ["True"] else None

    return eventually(done)


class TestLife:
    """From creation to deletion."""

    def test_pages(self, admin: Admin, operator: Operator, make: Make, pages: str) -> None:
        make(index="hello")
        assert eventually(lambda: admin.get(pages))["data"] == {"index.html": "hello"}

    def test_owner(self, admin: Admin, operator: Operator, make: Make, pages: str) -> None:
        website = make()
        (owner,) = eventually(lambda: admin.get(pages))["metadata"]["ownerReferences"]
        assert (owner["uid"], owner["controller"]) == (website["metadata"]["uid"], True)

    def test_record(self, admin: Admin, namespace: str, operator: Operator, make: Make) -> None:
        make()
        path = f"{CONFIG_MAPS.format(namespace='dns')}/shop.{namespace}.example.com"
        assert eventually(lambda: admin.get(path))["data"] == {"website": f"{namespace}/shop"}

    def test_status(self, admin: Admin, operator: Operator, make: Make, shop: str) -> None:
        make(index="a", about="b")
        assert ready(admin, shop)["status"]["pages"] == 2

    def test_update(self, admin: Admin, operator: Operator, make: Make, shop: str, pages: str) -> None:
        make(index="a")
        ready(admin, shop)
        admin.call("PATCH", shop, {"spec": {"pages": {"index.html": "b"}}}, PATCH)
        eventually(lambda: admin.get(pages)["data"] == {"index.html": "b"})
        assert ready(admin, shop)["metadata"]["generation"] == 2

    def test_deletion(self, admin: Admin, namespace: str, operator: Operator, make: Make, shop: str) -> None:
        make()
        ready(admin, shop)
        admin.call("DELETE", shop)
        eventually(lambda: admin.get(shop) is None)
        assert admin.get(f"{CONFIG_MAPS.format(namespace='dns')}/shop.{namespace}.example.com") is None


class TestDrift:
    """Changes by other writers, and none of its own."""

    def test_removed_pages(self, admin: Admin, operator: Operator, make: Make, shop: str, pages: str) -> None:
        make(index="a")
        ready(admin, shop)
        first = admin.get(pages)["metadata"]["uid"]
        admin.call("DELETE", pages)
        eventually(lambda: admin.get(pages)["metadata"]["uid"] != first)

    def test_changed_pages(self, admin: Admin, operator: Operator, make: Make, shop: str, pages: str) -> None:
        make(index="a")
        ready(admin, shop)
        admin.call("PATCH", pages, {"data": {"index.html": "x"}}, PATCH)
        eventually(lambda: admin.get(pages)["data"]["index.html"] == "a")

    def test_name_taken(
        self, admin: Admin, namespace: str, operator: Operator, make: Make, shop: str, pages: str
    ) -> None:
        admin.call(
            "POST", CONFIG_MAPS.format(namespace=namespace), {"metadata": {"name": "shop-pages"}, "data": {"a": "b"}}
        )
        make(index="a")
        website = eventually(lambda: (found := admin.get(shop))["status"] and found)
        assert website["status"]["conditions"][0]["reason"] == "NameTaken"
        assert admin.get(pages)["data"] == {"a": "b"}

    def test_writes_nothing_twice(self, admin: Admin, new_operator: NewOperator, make: Make, shop: str) -> None:
        written: list[str] = []

        def note(method: str, path: str, send: Send) -> Any:
            written.extend([path] if method not in ("GET", "WATCH") else [])
            return send()

        new_operator(note)
        make(index="a")
        ready(admin, shop)
        time.sleep(QUIET_S)
        written.clear()
        admin.call("PATCH", shop, {"metadata": {"labels": {"seen": "again"}}}, PATCH)
        time.sleep(QUIET_S)
        assert written == []


class TestApi:
    """The definition and its webhook."""

    def test_bad_host(self, admin: Admin, websites: str) -> None:
        meta, spec = {"name": "x"}, {"host": "A!"}
        with pytest.raises(Refused) as refused:
            admin.call(
                "POST", websites, {"apiVersion": "example.com/v1", "kind": "Website", "metadata": meta, "spec": spec}
            )
        assert refused.value.status == 422

    def test_host_stays(self, admin: Admin, make: Make, shop: str) -> None:
        make()
        with pytest.raises(Refused, match="does not move to another host"):
            admin.call("PATCH", shop, {"spec": {"host": "b.example.com"}}, PATCH)

    def test_old_version(self, admin: Admin, make: Make, shop: str) -> None:
        make(index="a", about="b")
        old = shop.replace("/v1/", "/v1alpha1/")
        assert admin.get(old)["spec"]["index"] == "a"
        admin.call("PATCH", old, {"spec": {"index": "c"}}, PATCH)
        assert admin.get(shop)["spec"]["pages"] == {"index.html": "c", "about.html": "b"}

    def test_rights(self, admin: Admin, websites: str, operator: Operator, make: Make, shop: str) -> None:
        make()
        ready(admin, shop)
        path = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings"
        rights = admin.get(f"{path}/website-operator")
        admin.call("DELETE", f"{path}/website-operator")
        make("late")
        time.sleep(QUIET_S)
        assert "status" not in admin.get(f"{websites}/late")
        del rights["metadata"]["resourceVersion"]  # other tests need them: there is no reset
        admin.call("POST", path, rights)


class TestFaults:
    """An API that is not at its best, as the operator's client makes it appear."""

    @pytest.mark.parametrize(
        "faults",
        [("PUT", 409, 2), ("POST", 429, 2), ("", 500, 3)],
        ids=["conflict", "throttled", "failing"],
    )
    def test_done_all_the_same(
        self, admin: Admin, new_operator: NewOperator, make: Make, shop: str, faults: Any
    ) -> None:
        struck = Faults(*faults)
        new_operator(struck)
        make(index="a")
        ready(admin, shop)
        assert struck.left == 0

    def test_stored_but_not_answered(self, admin: Admin, new_operator: NewOperator, make: Make, shop: str) -> None:
        new_operator(Faults("POST", 0, 1, after=True))
        make(index="a")
        ready(admin, shop)

    def test_expired_watch(self, admin: Admin, websites: str, new_operator: NewOperator, make: Make) -> None:
        struck = Faults("WATCH", 410, 2)
        new_operator(struck)
        make("second")
        ready(admin, f"{websites}/second")
        eventually(lambda: struck.left == 0)

    @pytest.mark.parametrize("seed", [1, 2])
    def test_chaos(self, admin: Admin, websites: str, new_operator: NewOperator, make: Make, seed: int) -> None:
        new_operator(chaos(seed))
        for name in ("a", "b", "c"):
            make(name)
        for name in ("a", "b", "c"):
            ready(admin, f"{websites}/{name}")


class TestRestart:
    """The operator ends and begins again."""

    def test_misses_nothing(
        self, admin: Admin, websites: str, new_operator: NewOperator, make: Make, shop: str
    ) -> None:
        first = new_operator()
        make(index="a")
        ready(admin, shop)
        first.stop()
        admin.call("PATCH", shop, {"spec": {"pages": {"index.html": "b"}}}, PATCH)
        make("other")
        new_operator()
        ready(admin, shop)
        ready(admin, f"{websites}/other")

    def test_finishes_deletions(self, admin: Admin, new_operator: NewOperator, make: Make, shop: str) -> None:
        first = new_operator()
        make()
        ready(admin, shop)
        first.stop()
        admin.call("DELETE", shop)
        new_operator()
        eventually(lambda: admin.get(shop) is None)
