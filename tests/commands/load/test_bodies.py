"""Templates of the objects, in both vocabularies."""

from __future__ import annotations

import json

from twisted.trial.unittest import SynchronousTestCase

from orchtw.commands.load.bodies import LABEL, Bodies, Template, endpoints
from orchtw.naming.naming import Naming


class BodiesTests(SynchronousTestCase):
    """Encoded objects with names put in."""

    def test_template(self) -> None:
        """Values take their places, and a percent sign stays."""
        template = Template({"name": "@NAME@", "share": "50 %", "again": "@NAME@"}, "NAME")
        self.assertEqual(json.loads(template.render(NAME="a")), {"name": "a", "share": "50 %", "again": "a"})

    def test_every_object(self) -> None:
        """Every template is JSON without a place left, with the run's label where it makes an object."""
        values = dict.fromkeys(
            ("NAME", "APP", "NODE", "TIME", "IP", "UID", "VERSION", "NAMESPACE", "POD", "REASON", "MESSAGE",
             "COMPONENT"),
            "x",
        )  # fmt: skip
        bodies = Bodies(Naming.kubernetes(), "run")
        for name, template in vars(bodies).items():
            if isinstance(template, Template):
                text = template.render(**values)
                self.assertNotIn(b"@", text.replace(b"@sha256", b""), name)
                value = json.loads(text)
                if value.get("kind", "Binding") != "Binding":
                    self.assertEqual(value["metadata"]["labels"][LABEL], "run", name)

    def test_vocabulary(self) -> None:
        """Groups and labels are those of the server's vocabulary."""
        for naming, group, label in (
            (Naming.kubernetes(), "discovery.k8s.io/v1", "kubernetes.io/service-name"),
            (Naming.orch(), "discovery.orch.io/v1", "orch.io/service-name"),
        ):
            value = json.loads(Bodies(naming, "run").slice("web"))
            self.assertEqual((value["apiVersion"], value["metadata"]["labels"][label]), (group, "web"))

    def test_endpoints(self) -> None:
        """A patch of endpoints has an address for each pod."""
        found = json.loads(endpoints({"a": "10.0.0.1"}))["endpoints"]
        self.assertEqual([(each["addresses"], each["targetRef"]["name"]) for each in found], [(["10.0.0.1"], "a")])
