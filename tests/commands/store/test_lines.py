"""The lines of an export (reference STORE-20)."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from orchtw.commands.store.lines import MAX_EXPIRY, ExportHead, Item, read
from tests.properties import examples

TEXTS = st.text(st.characters(blacklist_categories=["Cs"], blacklist_characters="\0"), min_size=1)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(1 << 53), 1 << 53) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=10,
)
ITEMS = st.builds(
    Item,
    key=TEXTS,
    expires=st.integers(0, MAX_EXPIRY - 1),
    object=st.dictionaries(TEXTS, JSON, max_size=4),
) | st.builds(Item, key=TEXTS, expires=st.integers(0, MAX_EXPIRY - 1), value=st.binary())


class LineTests(SynchronousTestCase):
    @examples(100)
    @given(ITEMS)
    def test_item(self, item: Item) -> None:
        """A line says all that an item is; the revision is for readers, not for an import."""
        line = item.line()
        self.assertNotIn(b"\n", line)
        self.assertEqual(read(line), item)

    @examples(100)
    @given(TEXTS, st.integers(1, 1 << 62))
    def test_head(self, vocabulary: str, revision: int) -> None:
        """The first line says of which store the others are."""
        head = ExportHead(vocabulary, revision)
        self.assertEqual(read(head.line()), head)

    @examples(100)
    @given(st.binary())
    def test_anything(self, line: bytes) -> None:
        """Whatever a line is, it is read or refused with a reason."""
        try:
            read(line)
        except ValueError as error:
            self.assertTrue(str(error))

    def test_refusals(self) -> None:
        """Each reason has its own words."""
        for line, why in (
            (b"[]", "is not a JSON object"),
            (b'{"revision":1}', "has no key"),
            (b'{"key":"a\\u0000b","object":{}}', "has no key"),
            (b'{"key":"a"}', "has no object"),
            (b'{"key":"a","value":"?"}', "the value is not base64"),
            (b'{"key":"a","object":{},"expires":-1}', "expires must be a time in milliseconds"),
            (b'{"export":"another"}', "does not belong to an orch-store export of format 1"),
            (b'{"export":"orch-store export","format":1}', "does not name the store it came from"),
        ):
            self.assertEqual(str(self.assertRaises(ValueError, read, line)), why)
