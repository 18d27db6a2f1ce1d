"""Assertions that wait for a state of the server."""

from __future__ import annotations

import threading
from types import SimpleNamespace
from typing import Any

from orchtw.testing.control.failures import ConditionNotMet
from orchtw.testing.control.selectors import absent
from tests.testing.api_servers import CONFIG_MAPS, config_map
from tests.testing.control.case import DEFINITION, DEFINITIONS, THINGS, ControlCase


class EventuallyTests(ControlCase):
    def fail_with(self, *arguments: Any, **settings: Any) -> str:
        """Return the text of a wait in vain."""
        settings = {"timeout_s": 0.1, **settings}
        return str(self.assertRaises(ConditionNotMet, self.server.eventually, *arguments, **settings))

    def test_already_met(self) -> None:
        """A condition that is met already ends the wait with the object."""
        self.create(CONFIG_MAPS, config_map("a", x="1"))
        found = self.server.eventually("configmaps/a", lambda found: found["data"]["x"] == "1")
        self.assertEqual((found["kind"], found["metadata"]["name"]), ("ConfigMap", "a"))

    def test_wakes(self) -> None:
        """An event ends the wait, and no state is missed however short it lasts."""
        looked = threading.Event()
        self.create(CONFIG_MAPS, config_map("a", x="1"))

        def work() -> None:
            looked.wait()
            for value in ("2", "3"):
                self.patch_data("a", x=value)

        def second(found: Any) -> bool:
            looked.set()
            return bool(found["data"]["x"] == "2")

        self.meanwhile(work)
        found = self.server.eventually("cm/a", second)
        self.assertEqual(found["data"], {"x": "2"})

    def test_collection(self) -> None:
        """Of a selection any object may meet the predicate."""
        for name, colour in (("a", "red"), ("b", "blue")):
            self.create(CONFIG_MAPS, {"metadata": {"name": name, "labels": {"colour": colour}}})
        self.assertEqual(self.server.eventually("configmaps", labels="colour=blue")["metadata"]["name"], "b")
        self.assertEqual(
            self.server.eventually("configmaps", namespace="default", fields="metadata.name=a")["metadata"]["name"],
            "a",
        )

    def test_absent(self) -> None:
        """The end of the last selected object is a condition too, and so is that there never was one."""
        self.assertEqual(self.server.eventually("configmaps/a", absent), {})
        self.create(CONFIG_MAPS, config_map("a", x="1"))
        self.meanwhile(lambda: self.server.request("DELETE", f"{CONFIG_MAPS}/a"))
        self.assertIn(self.server.eventually("configmaps/a", absent).get("data"), (None, {"x": "1"}))

    def test_function(self) -> None:
        """A function that reads is called again after each write; its value is the result."""
        self.meanwhile(lambda: [self.create(CONFIG_MAPS, config_map(name)) for name in "abc"])
        found = self.server.eventually(
            lambda read: len(read.list("configmaps", "default")) == 4 and read.get("configmaps/c")
        )
        assert found
        self.assertEqual(found["metadata"]["name"], "c")

    def test_state_of_the_test(self) -> None:
        """A function may look at what no write tells of."""
        calls: list[int] = []

        def often(read: object) -> bool:
            calls.append(1)
            return len(calls) > 2

        self.assertTrue(self.server.eventually(often))

    def test_reset_meanwhile(self) -> None:
        """A wait goes on across resets."""

        def work() -> None:
            self.server.reset()
            self.create(CONFIG_MAPS, config_map("a"))

        self.meanwhile(work)
        self.server.eventually("configmaps/a")

    def test_definition_to_come(self) -> None:
        """A resource that is not served yet is waited for."""

        def work() -> None:
            self.create(DEFINITIONS, DEFINITION)
            self.server.eventually(lambda read: self.server.request("GET", THINGS).code == 200)
            self.create(THINGS, {"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": "a"}})

        self.meanwhile(work)
        self.assertEqual(self.server.eventually("things.example.com/a")["kind"], "Thing")

    def test_failure(self) -> None:
        """The failure shows the object as it was last seen, why the predicate did not hold, and the writers."""
        self.create(CONFIG_MAPS, config_map("a", x="1"))
        text = self.fail_with("configmaps/a", lambda found: found["status"]["ready"])
        for part in (
            "configmaps/a: the condition was not met within 0.1 s",
            "the condition raised KeyError: 'status'",
            "    x: '1'",
            "ADDED configmaps default/a at ",
            "by orch-testing (orchtw-testing), create",
        ):
            self.assertIn(part, text)
        self.assertNotIn("managedFields", text)

    def test_failure_without_object(self) -> None:
        """A failure says that the object does not exist, or that its resource does not."""
        self.assertIn("last seen: nothing", self.fail_with("configmaps/none"))
        self.assertIn("has no resource 'nonsense'", self.fail_with("nonsense/a"))

    def test_failure_of_a_function(self) -> None:
        """A function is named with its place, its last result, and the writes meanwhile."""
        text = self.fail_with(lambda read: len(read.list("pods")) > 5, timeout_s=1.0)  # until it has been called
        self.assertIn("test_eventually.py:", text)
        self.assertIn("last result: False", text)

    def test_timeout_in_second_place(self) -> None:
        """A number in the predicate's place is the timeout, of both kinds of conditions."""
        for condition in ("configmaps/none", lambda read: False):
            error = self.assertRaises(ConditionNotMet, self.server.eventually, condition, 0.1)
            self.assertIn("within 0.1 s", str(error))
        self.assertRaises(TypeError, self.server.eventually, "configmaps/none", 1, timeout_s=2)

    def test_mistakes(self) -> None:
        """Conditions that could never be met, or always would, are refused at once."""

        async def coroutine(_given: object) -> bool:
            return True

        def one(_given: object) -> bool:
            return True

        mistakes: tuple[tuple[Any, ...], ...] = (
            ("pods", "Running"), ("pods", True), ("pods", lambda: True), ("pods", lambda a, b: True),
            ("pods", coroutine), (one, one), (lambda: True,), (lambda a, b: True,), (coroutine,), (None,),
        )  # fmt: skip
        for arguments in mistakes:
            self.assertRaises(TypeError, self.server.eventually, *arguments)
        self.assertRaises(TypeError, self.server.eventually, one, namespace="default")
        self.assertRaises(TypeError, self.server.eventually, "pods", timeout_s="1")

    def test_not_found(self) -> None:
        """A client library's 404 means "not yet", wherever it has the code; its other errors end the wait."""

        class Refused(Exception):
            def __init__(self, **members: Any) -> None:
                self.__dict__ |= members

        for members in ({"status": 404}, {"code": 404}, {"response": SimpleNamespace(status_code=404)}):
            errors = [Refused(**members)]

            def read(_reader: Any, errors: list[Refused] = errors) -> bool:
                if errors:
                    raise errors.pop()
                return True

            self.assertTrue(self.server.eventually(read, 5))

        def forbidden(_reader: Any) -> bool:
            raise Refused(status=403)

        self.assertRaises(Refused, self.server.eventually, forbidden)

    def test_other_errors(self) -> None:
        """Errors that are no "not yet" end the wait at once."""
        self.create(CONFIG_MAPS, config_map("a"))
        self.assertRaises(ZeroDivisionError, self.server.eventually, "configmaps/a", lambda found: 1 / 0)
        self.assertRaises(ValueError, self.server.eventually, "configmaps/")
        self.assertRaises(ValueError, self.server.eventually, "configmaps/a", labels="a=b")

    def test_under_chaos(self) -> None:
        """Faults that strike everybody do not fail an assertion."""
        self.server.faults.chaos(3)
        self.meanwhile(lambda: [self.server.request("POST", CONFIG_MAPS, config_map(f"a-{n}")) for n in range(5)])
        self.server.eventually("configmaps/a-4")
