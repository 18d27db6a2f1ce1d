"""Tests that run once in each vocabulary."""

from __future__ import annotations

import sys
from typing import TypeVar

from twisted.trial.unittest import SynchronousTestCase, TestCase

Case = TypeVar("Case", bound=SynchronousTestCase | TestCase)

VOCABULARIES = ("orch", "kubernetes")


def in_both(case: type[Case]) -> type[Case]:
    """Have the tests of a class, whose `vocabulary` is `orch`, run under the other vocabulary too.

    A subclass with that one is put into the class' module, where trial finds it.
    """
    name = f"Kubernetes{case.__name__}"
    other = type(name, (case,), {"vocabulary": "kubernetes", "__module__": case.__module__, "__doc__": case.__doc__})
    setattr(sys.modules[case.__module__], name, other)
    return case


def other(vocabulary: str) -> str:
    """The one that a vocabulary is not."""
    return next(each for each in VOCABULARIES if each != vocabulary)
