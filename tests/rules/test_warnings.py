"""Warning headers, and the text of the deprecated versions (reference ERR-50, ERR-52)."""

from __future__ import annotations

import attrs
from twisted.trial.unittest import SynchronousTestCase

from orchtw.naming.naming import Naming
from orchtw.rules.warnings import CUT_CHARACTERS, TOTAL_CHARACTERS, deprecation, warning_headers
from orchtw.schema.catalogue import Catalogue, ResourceType


def find(group: str, version: str, plural: str) -> ResourceType:
    """A resource of the catalogue under Kubernetes' names."""
    found = Catalogue.load(Naming.kubernetes()).find(group, version, plural)
    assert found is not None
    return found


class DeprecationTests(SynchronousTestCase):
    def test_deprecated(self) -> None:
        """The text names version and kind, the releases of deprecation and removal, and the replacement."""
        self.assertEqual(
            deprecation(find("batch", "v1beta1", "cronjobs"), "1.24"),
            "batch/v1beta1 CronJob is deprecated in v1.21+, unavailable in v1.25+; use batch/v1 CronJob",
        )

    def test_current(self) -> None:
        """A version that is not deprecated has no text."""
        self.assertEqual(deprecation(find("batch", "v1", "cronjobs"), "1.24"), "")

    def test_deprecated_later(self) -> None:
        """A version that a later release deprecates has none yet; releases are compared as numbers."""
        resource = find("batch", "v1beta1", "cronjobs")
        self.assertEqual(deprecation(resource, "1.9"), "")
        self.assertEqual(deprecation(resource, "1.20"), "")
        self.assertNotEqual(deprecation(resource, "1.21"), "")

    def test_without_end_and_replacement(self) -> None:
        """An unknown removal or replacement is left out of the warning."""
        resource = attrs.evolve(find("batch", "v1beta1", "cronjobs"), removed=None, replacement=None)
        self.assertEqual(deprecation(resource, "1.24"), "batch/v1beta1 CronJob is deprecated in v1.21+")


class HeaderTests(SynchronousTestCase):
    def values(self, *texts: str) -> list[str]:
        """The values of the headers for these texts."""
        headers = warning_headers(texts)
        self.assertEqual({name for name, _ in headers} - {"Warning"}, set())
        return [value for _, value in headers]

    def test_form(self) -> None:
        """Code 299, no agent, the text quoted (RFC 7234 §5.5)."""
        self.assertEqual(self.values("mind the gap"), ['299 - "mind the gap"'])
        self.assertEqual(self.values('a "b" \\c'), ['299 - "a \\"b\\" \\\\c"'])

    def test_each_once(self) -> None:
        """The same text is sent once, in the place of the first."""
        self.assertEqual(self.values("b", "a", "b"), ['299 - "b"', '299 - "a"'])

    def test_line_breaks(self) -> None:
        """Nothing that could end the header gets into it; texts that differ in it alone are one."""
        self.assertEqual(self.values("a\r\nX: b", "aX: b", "a\x00X: b"), ['299 - "aX: b"'])

    def test_long(self) -> None:
        """Too long a text is cut, and warnings that still do not fit are dropped."""
        few = self.values("x" * TOTAL_CHARACTERS)
        self.assertEqual(few, [f'299 - "{"x" * TOTAL_CHARACTERS}"'])
        many = self.values(*(f"{number:05}" + "x" * CUT_CHARACTERS for number in range(100)))
        self.assertEqual(len(many), TOTAL_CHARACTERS // CUT_CHARACTERS)
        self.assertEqual({len(each) for each in many}, {CUT_CHARACTERS + len('299 - ""')})

    def test_many_short(self) -> None:
        """Of many short texts as many are shown as fill the limit (reference ERR-51)."""
        many = self.values(*(f"{number:0100}" for number in range(100)))
        self.assertEqual(many, [f'299 - "{number:0100}"' for number in range(41)])
