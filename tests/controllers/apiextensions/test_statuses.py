"""Status updates of definitions (reference CRD-7)."""

from __future__ import annotations

import msgspec
from twisted.trial.unittest import SynchronousTestCase

from orchtw.controllers.apiextensions.definition import Definition
from orchtw.controllers.apiextensions.statuses import News, as_told
from orchtw.registry.groups.apiextensions.conditions import NAMES_ACCEPTED, Finding

ACCEPTED = Finding(NAMES_ACCEPTED, True, "NoConflicts", "no conflicts found")
OBJ = {
    "metadata": {"name": "foos.a.b", "uid": "u", "finalizers": ["a.b/c"]},
    "spec": {"group": "a.b", "names": {"plural": "foos", "kind": "Foo"}},
}


class NewsTests(SynchronousTestCase):
    """News about a definition that has no status."""

    def setUp(self) -> None:
        self.definition = Definition.of(OBJ)

    def test_concern(self) -> None:
        """News concern a definition that does not say them yet."""
        self.assertTrue(News(findings=[ACCEPTED]).concern(self.definition))
        self.assertTrue(News(released="a.b/c").concern(self.definition))
        self.assertFalse(News(released="other").concern(self.definition))
        told = {"type": NAMES_ACCEPTED, "status": "True", "reason": ACCEPTED.reason, "message": ACCEPTED.message}
        said = msgspec.structs.replace(self.definition, conditions=[told])
        self.assertFalse(News(findings=[ACCEPTED]).concern(said))
        self.assertTrue(News(dropped=[NAMES_ACCEPTED]).concern(said))

    def test_accepted(self) -> None:
        """Accepted names are in the status, in full; without news of them nothing changes."""
        news = News(findings=[ACCEPTED], accepted={"plural": "foos"})
        definition, obj = as_told(self.definition, OBJ, news)
        self.assertTrue(news.accepts)
        self.assertEqual(definition.accepted, {"plural": "foos"})
        self.assertEqual(obj["status"]["acceptedNames"], {"plural": "foos", "kind": ""})
        self.assertEqual(as_told(self.definition, OBJ, News()), (self.definition, OBJ))
