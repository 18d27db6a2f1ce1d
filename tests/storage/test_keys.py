"""Keys of stores: the bound above a prefix, and text that is valid."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from orchtw.storage.keys import is_text, is_valid, prefix_end


class KeyTests(SynchronousTestCase):
    """Bounds and validity of keys."""

    def test_bound(self) -> None:
        """The bound is the next text after every text with the prefix, over surrogates and the last code point."""
        for prefix, bound in (
            ("/registry/pods/", "/registry/pods0"),
            ("/\ud7ff", "/\ue000"),
            ("/\U0010ffff", "0"),
            ("\U0010ffff", ""),
            ("", ""),
        ):
            self.assertEqual(prefix_end(prefix), bound)

    def test_valid_keys(self) -> None:
        """A key is text with a UTF-8 form, and neither empty nor with a NUL."""
        self.assertEqual([is_valid(key) for key in ("/a", "/é")], [True, True])
        self.assertEqual([is_valid(key) for key in ("", "/\0", "/\udc80")], [False, False, False])
        self.assertEqual([is_text(key) for key in ("", "/\0", "/\udc80")], [True, True, False])
