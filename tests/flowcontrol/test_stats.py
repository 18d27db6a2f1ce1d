"""Statistics of flow control."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from orchtw.flowcontrol.stats import Watermark, kind_of


class WatermarkTests(SynchronousTestCase):
    """The most of the last second (reference METRIC-5)."""

    def test_last_second(self) -> None:
        """A peak is shown in the second behind it, and then forgotten."""
        mark = Watermark()
        for _ in range(5):
            mark.add(0.1)
        mark.count = 1
        mark.add(1.2)
        self.assertEqual(mark.most(1.5), 5)
        mark.count = 1
        mark.add(2.3)
        self.assertEqual(mark.most(2.4), 2)

    def test_quiet(self) -> None:
        """After a quiet time there is what there is."""
        mark = Watermark()
        for _ in range(5):
            mark.add(0.1)
        mark.count = 2
        self.assertEqual(mark.most(60.0), 2)

    def test_touch(self) -> None:
        """A request that comes and goes in one step leaves the marks of one that comes and then goes."""
        touched, one_by_one = Watermark(), Watermark()
        for now in (0.1, 0.2, 1.5, 1.6, 9.0):
            touched.touch(now)
            one_by_one.add(now)
            one_by_one.leave()
            self.assertEqual((touched.count, touched.most(now)), (one_by_one.count, one_by_one.most(now)))
        self.assertEqual(touched.marks.anew(0), one_by_one.marks.anew(0))

    def test_kinds(self) -> None:
        """Everything but get, list and watch writes."""
        self.assertEqual({kind_of(verb) for verb in ("get", "list", "watch")}, {"readOnly"})
        self.assertEqual({kind_of(verb) for verb in ("create", "proxy", "post", "deletecollection")}, {"mutating"})
