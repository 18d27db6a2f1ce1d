"""Packaged descriptors, and the generator of the packaged files."""
# covers: orchtw.commands.generate

from __future__ import annotations

import sys
from io import StringIO
from pathlib import Path

from google.protobuf import descriptor_pool
from twisted.trial.unittest import SkipTest, SynchronousTestCase

from orchtw.commands import generate
from orchtw.errors import ConfigError
from orchtw.schema.descriptors import packaged

CORE = "orch.io.api.core.v1"


class DescriptorTests(SynchronousTestCase):
    def test_messages_are_usable(self) -> None:
        """A message class encodes by field number: ObjectReference.kind is field 1."""
        kind = packaged().message_class(f"{CORE}.ObjectReference")
        self.assertEqual(kind(kind="Pod").SerializeToString(), b"\n\x03Pod")

    def test_unknown_message_is_a_key_error(self) -> None:
        """A name that no proto declares raises KeyError."""
        self.assertRaises(KeyError, packaged().message_class, f"{CORE}.Nothing")

    def test_default_pool_stays_untouched(self) -> None:
        """Our messages live in a pool of their own."""
        packaged()
        self.assertRaises(KeyError, descriptor_pool.Default().FindMessageTypeByName, f"{CORE}.Pod")


class GenerateTests(SynchronousTestCase):
    def test_packaged_set_is_fresh(self) -> None:
        """The committed api.binpb is what the protos compile to."""
        if not generate.PROTOS.is_dir():
            raise SkipTest("the protos are in the checkout only")
        try:
            fresh = generate.stripped(generate.compile_protos(generate.PROTOS))
        except ConfigError as error:
            raise SkipTest(str(error)) from error
        self.assertEqual(generate.OUTPUT.read_bytes(), fresh)

    def test_stale_set_fails_the_check(self) -> None:
        """`--check` exits 1 with one line and leaves the file alone when it differs."""
        if not generate.PROTOS.is_dir():
            raise SkipTest("the protos are in the checkout only")
        stale = Path(self.mktemp())
        stale.write_bytes(b"old")
        said = StringIO()
        self.patch(generate, "OUTPUT", stale)
        self.patch(sys, "stderr", said)
        self.assertEqual(generate.main(["--check"]), 1)
        self.assertEqual(said.getvalue().count("\n"), 1)
        self.assertEqual(stale.read_bytes(), b"old")
