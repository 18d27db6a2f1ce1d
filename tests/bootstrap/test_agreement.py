"""Agreement of several servers: the earlier one may serve (reference CTRL-52)."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from orchtw.bootstrap.agreement import UNKNOWN, Agreement
from orchtw.bootstrap.server_leases import LIFE_S, SERVERS, ServerLeases, ServerPlace
from orchtw.rules.agreement import Equal, Fact, statement
from orchtw.storage.store import Op
from tests.client.shared_store import KeepingStore
from tests.registry.allocation.processes import Group, Link


class Server:
    """One of those that share a store. `keys` is what all must have in common, `plugins` what they should."""

    def __init__(self, group: Group, name: str, keys: str, plugins: str = "") -> None:
        self.group = group
        said: list[Fact] = [Equal(name="keys", text=keys, fatal=True), Equal(name="plugins", text=plugins)]
        self.leases = ServerLeases(group.store, ServerPlace("192.0.2.1", 1), name, statement(said))
        self.agreement = Agreement(self.leases, said)
        self.told: list[bool] = []
        self.agreement.changed = self.told.append

    def enter(self) -> Server:
        """Say for the first time that it is there."""
        self.group.wait(self.leases.renew())
        return self

    def look(self) -> bool:
        """Return what the server finds about itself."""
        self.group.wait(self.leases.renew())
        self.group.wait(self.agreement.look())
        return self.agreement.agreed

    def leave(self) -> None:
        """End in good order."""
        self.group.wait(self.leases.leave())


class AgreementTests(SynchronousTestCase):
    """Servers that come, look and go."""

    def setUp(self) -> None:
        self.group = Group(0)
        self.group.store = KeepingStore(self.group.clock)

    def server(self, name: str, keys: str = "k", plugins: str = "") -> Server:
        return Server(self.group, name, keys, plugins).enter()

    def test_not_known_yet(self) -> None:
        """Before it has looked, a server agrees with nobody."""
        server = self.server("a")
        self.assertEqual((server.agreement.agreed, server.agreement.objection), (False, UNKNOWN))
        self.assertTrue(server.look())
        self.assertEqual((server.agreement.objection, server.told), ("", [True]))

    def test_alone(self) -> None:
        """Without a shared store there is nobody to ask."""
        leases = ServerLeases(Link(self.group.store, shared=False), ServerPlace("192.0.2.1", 1), "a")
        self.assertTrue(Agreement(leases, []).agreed)

    def test_the_later_one_waits(self) -> None:
        """Until the earlier one has left or died."""
        first, second = self.server("z"), self.server("a", "other")
        self.assertEqual((first.look(), second.look(), first.look()), (True, False, True))
        self.assertEqual(second.agreement.objection, "differs from server 192.0.2.1:1 (z) in keys")
        self.assertEqual(first.agreement.remarks, ["differs from server 192.0.2.1:1 (a) in keys"])
        first.leave()
        self.assertTrue(second.look())
        third = self.server("b")
        self.assertFalse(third.look())
        self.group.clock.advance(LIFE_S)
        self.assertTrue(third.enter().look())

    def test_two_at_once(self) -> None:
        """The server whose record came first serves, whichever looks first, and both never do."""
        for order in (0, 1):
            servers = self.server(f"z{order}"), self.server(f"a{order}", "other")
            found = {index: servers[index].look() for index in (order, 1 - order)}
            self.assertEqual(found, {0: True, 1: False})
            for server in servers:
                server.leave()

    def test_settings(self) -> None:
        """Differences in other facts keep no server from serving; both report them."""
        first, second = self.server("a"), self.server("b", plugins="p")
        self.assertEqual((first.look(), second.look()), (True, True))
        self.assertEqual(second.agreement.remarks, ["differs from server 192.0.2.1:1 (a) in plugins"])

    def test_one_that_waits_keeps_nobody_waiting(self) -> None:
        """A third server that agrees with those that serve does not mind one that waits."""
        first, second, third = self.server("a"), self.server("b", "other"), self.server("c")
        self.assertEqual((first.look(), second.look(), third.look()), (True, False, True))

    def test_when_the_first_goes_one_side_takes_over(self) -> None:
        """Of those that waited the first one serves, and those that agree with it."""
        first = self.server("a")
        others = [self.server("b", "x"), self.server("c", "y"), self.server("d", "x")]
        self.assertTrue(first.look())
        self.assertEqual([each.look() for each in others], [False, False, False])
        first.leave()
        self.assertEqual([each.look() for each in reversed(others)], [True, False, True])

    def test_restart_with_another_setting(self) -> None:
        """A server that is started again with something else is the later one, even in its own place; when all have
        been restarted, all serve.
        """
        first, second = self.server("a"), self.server("b")
        self.assertEqual((first.look(), second.look()), (True, True))
        again = self.server("a", "new")
        self.assertEqual((again.look(), second.look()), (False, True))
        other = self.server("b", "new")
        self.assertEqual((again.look(), other.look()), (True, True))

    def test_an_earlier_one_that_was_held_up(self) -> None:
        """It is the earlier one still: the one that took its place meanwhile makes room again."""
        first, second = self.server("a"), self.server("b", "other")
        self.assertEqual((first.look(), second.look()), (True, False))
        self.group.clock.advance(LIFE_S)
        self.assertTrue(second.look())
        self.assertTrue(first.look())
        self.assertFalse(second.look())
        self.assertEqual(second.told, [True, False])

    def test_other_records(self) -> None:
        """An unreadable record is not a server."""
        for name, value in (("x", b"nonsense"), ("y", b"{}"), ("z", b'{"address":1,"port":"p"}'), ("0", b"[]")):
            self.group.wait(self.group.store.commit(Op(SERVERS + name, value)))
        self.assertTrue(self.server("a").look())
