"""Option classes and their subjects."""

from __future__ import annotations

import pickle

from twisted.trial.unittest import SynchronousTestCase

from orchtw.config.about import about
from orchtw.config.subjects import changed, options, replaced, setting, settings_of, subject
from orchtw.flags.flag import DURATION, TEXT


@options
class Inner:
    """Options of a subject."""

    wait_s: float = setting(default=1.5, metadata=about("Some", "Time to wait.", DURATION))


@options
class Outer:
    """Options with a subject."""

    name: str = setting(default="a", metadata=about("Some", "A name.", TEXT))
    inner: Inner = subject(Inner, "part")
    notes: tuple[str, ...] = ()

    @property
    def shown(self) -> str:
        """Return the name and the time, as read from a subject."""
        return f"{self.name} {self.inner.wait_s}"


class OptionClassTests(SynchronousTestCase):
    """Classes that `options` makes (reference FLAG-1)."""

    def test_values(self) -> None:
        """They have defaults, take keywords only, compare by value, and keep methods, name and docstring."""
        self.assertEqual((Outer().shown, Outer(name="b").shown), ("a 1.5", "b 1.5"))
        self.assertEqual((Outer(), hash(Outer())), (Outer(), hash(Outer())))
        self.assertNotEqual(Outer(), Outer(name="b"))
        self.assertEqual(
            (Outer.__name__, Outer.__module__, Outer.__doc__), ("Outer", __name__, "Options with a subject.")
        )
        self.assertRaises(TypeError, Outer, "b")

    def test_frozen(self) -> None:
        """A field cannot be set; copies with other values are made instead."""
        made = Outer()
        self.assertRaises(AttributeError, setattr, made, "name", "b")
        self.assertEqual(replaced(made, name="b"), Outer(name="b"))
        self.assertEqual(changed(made, {("inner", "wait_s"): 2.0}), Outer(inner=Inner(wait_s=2.0)))
        self.assertEqual(made, Outer())

    def test_pickled(self) -> None:
        """Workers get them pickled."""
        made = Outer(name="b", inner=Inner(wait_s=3.0))
        self.assertEqual(pickle.loads(pickle.dumps(made)), made)

    def test_settings(self) -> None:
        """Fields with metadata are flags, a subject's with its prefix; a duration's keyword names its unit."""
        found = list(settings_of(Outer))
        self.assertEqual([each.flag for each in found], ["name", "part-wait"])
        self.assertEqual([each.name for each in found], ["name", "part_wait_s"])
        self.assertEqual([each.of(Outer()) for each in found], ["a", 1.5])
        self.assertEqual([each.field.default for each in found], ["a", 1.5])
