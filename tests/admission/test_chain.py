"""Plugins that see a write, by pass and in order (reference ADM-1, ADM-2, ADM-3, ADM-18)."""

from __future__ import annotations

from collections.abc import Callable

from twisted.trial.unittest import SynchronousTestCase

from orchtw.admission import chain as chain_module
from orchtw.admission.attributes import Attributes, Operation
from orchtw.admission.chain import Chain
from orchtw.errors import Forbidden
from orchtw.schema.catalogue import ResourceType
from tests.admission.asked import attributes, pass_chain, resource
from tests.metrics.shown import text_of

Seen = list[tuple[str, str]]


class Mutator:
    """Takes part in the first pass only."""

    def __init__(self, name: str, seen: Seen, concerned: Callable[[Operation], bool] = bool) -> None:
        self.name = name
        self.seen = seen
        self.concerned = concerned
        self.asked = 0

    def handles(self, operation: Operation, resource: ResourceType, subresource: str) -> bool:
        self.asked += 1
        return self.concerned(operation)

    async def admit(self, attributes: Attributes) -> None:
        self.seen.append((self.name, "admit"))


class Both(Mutator):
    """Takes part in both passes."""

    async def validate(self, attributes: Attributes) -> None:
        self.seen.append((self.name, "validate"))


class Idle(Both):
    """Has nothing to do with updates."""

    def idle(self, attributes: Attributes) -> bool:
        return attributes.operation == "UPDATE"


class Refuser(Mutator):
    """Refuses in the first pass."""

    async def admit(self, attributes: Attributes) -> None:
        raise attributes.forbidden("no")


class OnceOnly(Mutator):
    """Refuses in the second round."""

    async def admit(self, attributes: Attributes) -> None:
        if attributes.round:
            raise attributes.forbidden("no")
        await super().admit(attributes)


class Again(Mutator):
    """Asks for another round, always."""

    async def admit(self, attributes: Attributes) -> None:
        self.seen.append((self.name, f"round {attributes.round}"))
        attributes.carried = [*(attributes.carried or ()), attributes.round]
        attributes.request_reinvocation()


class ChainTests(SynchronousTestCase):
    def setUp(self) -> None:
        self.seen: Seen = []

    def test_passes(self) -> None:
        """All mutating plugins, then all validating ones, each in the chain's order."""
        chain = Chain([Both("a", self.seen), Mutator("b", self.seen), Both("c", self.seen)])
        self.successResultOf(pass_chain(chain, attributes("CREATE", "pods")))
        passed = [("a", "admit"), ("b", "admit"), ("c", "admit"), ("a", "validate"), ("c", "validate")]
        self.assertEqual(self.seen, passed)

    def test_idle(self) -> None:
        """A plugin that is idle for a write is not run for it, but counted as if it were."""
        chain = Chain([Both("a", self.seen), Idle("b", self.seen)])
        self.successResultOf(pass_chain(chain, attributes("UPDATE", "pods")))
        self.assertEqual(self.seen, [("a", "admit"), ("a", "validate")])
        shown = text_of(chain.metrics.families())
        self.assertRegex(shown, r'controller_admission_duration_seconds_count{name="Idle",[^}]*type="admit"[^}]*} 1')
        self.successResultOf(pass_chain(chain, attributes("CREATE", "pods")))
        self.assertEqual(self.seen[2:], [("a", "admit"), ("b", "admit"), ("a", "validate"), ("b", "validate")])

    def test_refusal_ends_it(self) -> None:
        """Nobody is asked after a refusal."""
        chain = Chain([Both("a", self.seen), Refuser("b", self.seen), Both("c", self.seen)])
        self.failureResultOf(pass_chain(chain, attributes("CREATE", "pods")), Forbidden)
        self.assertEqual(self.seen, [("a", "admit")])

    def test_second_round(self) -> None:
        """Reinvocation calls all mutating plugins once more, and no third time (ADM-18)."""
        chain = Chain([Both("a", self.seen), Again("b", self.seen), Mutator("c", self.seen)])
        asked = attributes("CREATE", "pods")
        self.successResultOf(pass_chain(chain, asked))
        rounds = [[("a", "admit"), ("b", f"round {number}"), ("c", "admit")] for number in (0, 1)]
        self.assertEqual(self.seen, [*rounds[0], *rounds[1], ("a", "validate")])
        self.assertEqual(asked.carried, [0, 1])

    def test_refusal_in_second_round(self) -> None:
        """A refusal in the second round ends it too."""
        chain = Chain([OnceOnly("a", self.seen), Again("b", self.seen), Both("c", self.seen)])
        self.failureResultOf(pass_chain(chain, attributes("CREATE", "pods")), Forbidden)
        self.assertEqual(self.seen, [("a", "admit"), ("b", "round 0"), ("c", "admit")])

    def test_concern(self) -> None:
        """A plugin sees only what it handles, and a write that concerns nobody has an empty plan."""
        chain = Chain([Both("a", self.seen, lambda operation: operation == "DELETE")])
        self.assertTrue(chain.plan("CREATE", resource("pods")).empty)
        self.assertFalse(chain.plan("DELETE", resource("pods")).empty)
        self.successResultOf(pass_chain(chain, attributes("CREATE", "pods")))
        self.assertEqual(self.seen, [])

    def test_asked_once(self) -> None:
        """Plans are made once for each operation, resource and sub-resource."""
        plugin = Mutator("a", self.seen)
        chain = Chain([plugin])
        for _ in range(3):
            chain.plan("CREATE", resource("pods"))
            chain.plan("CREATE", resource("pods"), "eviction")
            chain.plan("UPDATE", resource("poddisruptionbudgets", "policy/v1"))
            chain.plan("UPDATE", resource("poddisruptionbudgets", "policy/v1beta1"))
        self.assertEqual(plugin.asked, 3)

    def test_bounded(self) -> None:
        """Of kinds that come and go not all is kept."""
        self.patch(chain_module, "MAX_PLANS", 2)
        plugin = Mutator("a", self.seen)
        chain = Chain([plugin])
        for plural in ("pods", "services", "secrets", "pods"):
            chain.plan("CREATE", resource(plural))
        self.assertEqual(plugin.asked, 4)
