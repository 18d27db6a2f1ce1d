"""Values of the variables of one write (reference POLICY-5)."""

from __future__ import annotations

from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from orchtw.admission.attributes import Attributes
from orchtw.admission.policies.inputs import inputs
from orchtw.admission.policies.rights import Rights
from orchtw.authz.fixed import AlwaysDeny
from orchtw.request import UserInfo
from orchtw.schema.cel.library.authorizers import Authorizer
from orchtw.wire.objects import Object
from tests.admission.asked import attributes

SCALERS = "horizontalpodautoscalers"
HERE = {"metadata": {"name": "here"}}


class Namespaces:
    """Stored namespaces, of which there is one; its entry is its name."""

    def get(self, namespace: str, name: str) -> str | None:
        return name if (namespace, name) == ("", "here") else None

    def load(self, entry: str) -> Object:
        return {"metadata": {"name": entry}}


def values(names: set[str], asked: Attributes, shown: Attributes | None = None) -> dict[str, Any]:
    """Return the values of variables."""
    namespaces: Any = Namespaces()
    return inputs(names, shown or asked, asked, Rights(AlwaysDeny(), asked), namespaces)


class InputTests(SynchronousTestCase):
    def test_mentioned(self) -> None:
        """Only what is mentioned is made, and parameters are null."""
        write = attributes("UPDATE", "configmaps", obj={"a": 1}, old={"a": 2})
        self.assertEqual(values(set(), write), {"params": None})
        self.assertEqual(
            values({"object", "oldObject"}, write), {"params": None, "object": {"a": 1}, "oldObject": {"a": 2}}
        )
        self.assertIsInstance(values({"authorizer"}, write)["authorizer"], Authorizer)
        own = values({"authorizer.requestResource"}, write)["authorizer.requestResource"]
        self.assertEqual(own.question.resource, "configmaps")

    def test_request(self) -> None:
        """The request has the kinds of both, the shown and the requested object, and nothing that is empty."""
        user = UserInfo(name="bob", groups=("g",), extra={"k": ("v",)})
        asked = attributes("CREATE", SCALERS, "autoscaling/v2", namespace="n", user=user, dry_run=True)
        shown = attributes("CREATE", SCALERS, "autoscaling/v1", namespace="n", user=user)
        kind = {"group": "autoscaling", "kind": "HorizontalPodAutoscaler"}
        resource = {"group": "autoscaling", "resource": SCALERS}
        self.assertEqual(
            values({"request"}, asked, shown)["request"],
            {
                "kind": {**kind, "version": "v1"},
                "resource": {**resource, "version": "v1"},
                "requestKind": {**kind, "version": "v2"},
                "requestResource": {**resource, "version": "v2"},
                "name": "x",
                "namespace": "n",
                "operation": "CREATE",
                "userInfo": {"username": "bob", "groups": ["g"], "extra": {"k": ["v"]}},
                "dryRun": True,
            },
        )

    def test_namespaces(self) -> None:
        """namespaceObject is the namespace of an object in one; null for others, namespaces among them."""
        name = "namespaceObject"
        self.assertEqual(values({name}, attributes("CREATE", "configmaps", namespace="here"))[name], HERE)
        for write in (
            attributes("CREATE", "namespaces", namespace="here"),
            attributes("CREATE", "nodes"),
            attributes("CREATE", "configmaps", namespace="missing"),
        ):
            self.assertIsNone(values({name}, write)[name])
