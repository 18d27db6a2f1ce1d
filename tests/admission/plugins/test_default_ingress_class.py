"""Tests of DefaultIngressClass (reference PLUG-21)."""

from __future__ import annotations

from typing import Any

from tests.verbs.served import ServedCase

ALL = "/apis/networking.orch.io/v1"
CLASSES, INGRESSES = f"{ALL}/ingressclasses", f"{ALL}/namespaces/default/ingresses"
DEFAULT = {"ingressclass.orch.io/is-default-class": "true"}
BACKEND = {"service": {"name": "s", "port": {"number": 80}}}


class DefaultIngressClassTests(ServedCase):
    """The plugin in a whole server."""

    def ingress_class(self, name: str, **annotations: str) -> None:
        meta = {"name": name, "annotations": {**DEFAULT, **annotations}}
        self.done("POST", CLASSES, {"metadata": meta, "spec": {"controller": "ex.io/a"}})

    def class_of(self, name: str, **meta: Any) -> Any:
        obj = {"metadata": {"name": name, **meta}, "spec": {"defaultBackend": BACKEND}}
        return self.done("POST", INGRESSES, obj)["spec"].get("ingressClassName")

    def test_default(self) -> None:
        """The class that is the default at the moment is filled in, where its key belongs; without one nothing is."""
        self.assertIsNone(self.class_of("a"))
        self.ingress_class("usual")
        self.assertEqual(self.class_of("b"), "usual")
        self.assertEqual(list(self.done("GET", f"{INGRESSES}/b")["spec"]), ["ingressClassName", "defaultBackend"])
        self.done("DELETE", f"{CLASSES}/usual")
        self.assertIsNone(self.class_of("c"))

    def test_chosen(self) -> None:
        """A class that is chosen stays, in the field or in the annotation of old."""
        self.ingress_class("usual")
        self.assertIsNone(self.class_of("a", annotations={"orch.io/ingress.class": "other"}))
        spec = {"defaultBackend": BACKEND, "ingressClassName": "other"}
        made = self.done("POST", INGRESSES, {"metadata": {"name": "b"}, "spec": spec})
        self.assertEqual(made["spec"]["ingressClassName"], "other")

    def test_several(self) -> None:
        """Two defaults are a 403 for those who do not choose."""
        self.ingress_class("a")
        self.ingress_class("b")
        answer = self.send("POST", INGRESSES, {"metadata": {"name": "x"}, "spec": {"defaultBackend": BACKEND}})
        why = "Internal error occurred: 2 default IngressClasses were found, only 1 allowed"
        text = f'ingresses.networking.orch.io "x" is forbidden: {why}'
        self.assertEqual((answer.code, answer.json["message"]), (403, text))
