"""Comments of protos as descriptions, and the packaged texts made of them."""

from __future__ import annotations

from pathlib import Path

import orjson
from twisted.trial.unittest import SkipTest, SynchronousTestCase

from orchtw.commands import generate
from orchtw.errors import ConfigError
from orchtw.schema.comments import Descriptions, descriptions, encoded

SOURCE = """\
// About the file.
syntax = "proto2";
package orch.test;

// For developers.

// A thing,
//   with a name.
message Thing { // behind the brace
  // The name:
  // required.
  optional string name = 1; // behind the field

  // For developers.

  optional string size = 2;
  /* A colour. */
  optional string colour = 3;
}

message Silent {
  optional string name = 1;
}
"""


class CommentTests(SynchronousTestCase):
    def collected(self, folder: str) -> Descriptions:
        root = Path(self.mktemp())
        (root / folder).mkdir(parents=True)
        (root / folder / "thing.proto").write_text(SOURCE)
        try:
            return descriptions(generate.compile_protos(root, [folder]))
        except ConfigError as error:
            raise SkipTest(str(error)) from error

    def test_only_comments_directly_above_describe(self) -> None:
        """Lines are joined; what stands apart or behind is not a description, nor is what is about the file."""
        self.assertEqual(
            self.collected("orch"),
            {"orch.test.Thing": {"": "A thing, with a name.", "name": "The name: required.", "colour": "A colour."}},
        )

    def test_other_folders_describe_nothing(self) -> None:
        """The options' own messages are not part of the API."""
        self.assertEqual(self.collected("orchtw"), {})

    def test_encoding_is_stable(self) -> None:
        """Equal texts give equal bytes, whatever the order they were found in."""
        one: Descriptions = {"b": {"y": "1.", "x": "2."}, "a": {}}
        other: Descriptions = {"a": {}, "b": {"x": "2.", "y": "1."}}
        self.assertEqual(encoded(one), encoded(other))


class PackagedTests(SynchronousTestCase):
    def test_packaged_texts_are_fresh(self) -> None:
        """The committed descriptions.json is what the protos say."""
        if not generate.PROTOS.is_dir():
            raise SkipTest("the protos are in the checkout only")
        try:
            fresh = generate.generated()[generate.DESCRIPTIONS_OUTPUT]
        except ConfigError as error:
            raise SkipTest(str(error)) from error
        self.assertEqual(generate.DESCRIPTIONS_OUTPUT.read_bytes(), fresh)

    def test_nothing_is_written_twice(self) -> None:
        """A version does not repeat the text that it would share with the stable one of its group."""
        texts = orjson.loads(generate.DESCRIPTIONS_OUTPUT.read_bytes())
        for message, own in texts.items():
            package, _, name = message.rpartition(".")
            stable = texts.get(f"{package.rpartition('.')[0]}.v1.{name}", {})
            if not package.endswith((".v1", ".v2")):
                self.assertEqual([key for key in own if stable.get(key) == own[key]], [], message)
