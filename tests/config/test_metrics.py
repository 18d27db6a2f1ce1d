"""Flags of metrics, their values and refusals (reference METRIC-3)."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from orchtw.assembly.flags import FLAGS, parse
from orchtw.errors import ConfigError


class MetricsTests(SynchronousTestCase):
    """The flags of metrics (reference METRIC-3)."""

    def problems(self, *arguments: str) -> tuple[str, ...]:
        found: tuple[str, ...] = self.assertRaises(ConfigError, parse, arguments).problems
        return found

    def test_hidden(self) -> None:
        """Only the previous release's hidden metrics can be shown."""
        config = parse(["--show-hidden-metrics-for-version=1.23"])
        self.assertEqual(config.metrics.show_hidden_metrics_for_version, "1.23")
        for version in ("1.24", "1.22", "1", "all"):
            self.assertEqual(
                self.problems(f"--show-hidden-metrics-for-version={version}"),
                (
                    "--show-hidden-metrics-for-version must be omitted or have the value '1.23'. Only the previous "
                    "minor version is allowed",
                ),
            )

    def test_allowed_labels(self) -> None:
        """Values of a label, of several in quotes, and of several flags."""
        for arguments, expected in (
            (["a_total,x=1,2"], {("a_total", "x"): {"1", "2"}}),
            (['"a,x=1,2"'], {("a", "x"): {"1", "2"}}),
            (['"a,x=1,2","b,y=3"'], {("a", "x"): {"1", "2"}, ("b", "y"): {"3"}}),
            (["a,x=1", "b,y=2"], {("a", "x"): {"1"}, ("b", "y"): {"2"}}),
            (["a,x=1, 2"], {("a", "x"): {"1", "2"}}),
        ):
            config = parse([f"--allow-metric-labels={argument}" for argument in arguments])
            self.assertEqual(config.metrics.allowed_labels, expected)

    def test_wrong_labels(self) -> None:
        """A key that is not a metric and label is refused in one line, as the release words it."""
        text = (
            "--allow-metric-labels must has a list of kv pair with format "
            "`metricName:labelName=labelValue, labelValue,...`"
        )
        for key in ("a", "a,", "a,1x", "a,x,y", "a b,x", ",x"):
            self.assertEqual(self.problems(f"--allow-metric-labels={key}=1"), (text,))
        for texts in ("a,x", '"a,x=1","b,y=2","c"', "a,x=1,b,y=2,c"):
            [problem] = self.problems(f"--allow-metric-labels={texts}")
            self.assertIn("must be formatted as key=value", problem)

    def test_shown(self) -> None:
        """A printed value parses to the same value."""
        given = parse(["--allow-metric-labels=a,x=1,2", "--allow-metric-labels=b,y=3"]).metrics.allow_metric_labels
        [flag] = [flag for flag in FLAGS if flag.name == "allow-metric-labels"]
        self.assertEqual(flag.kind.parse([flag.kind.show(given)]), given)
