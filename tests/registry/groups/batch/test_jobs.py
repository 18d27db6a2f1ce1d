"""Rules of jobs and cron jobs that no request meets while the features they need are off."""

from __future__ import annotations

from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from orchtw.naming.naming import Naming
from orchtw.registry.groups.batch.cron_jobs import validate_cron_job
from orchtw.registry.groups.batch.job_policies import policy_causes
from orchtw.registry.groups.batch.job_validation import validate_job
from orchtw.registry.groups.batch.jobs import generate_selector
from orchtw.wire.objects import Object
from tests.registry.groups.test_defaults import codec_and_strategy

NAMING = Naming.orch()
POD = {"restartPolicy": "Never"}


class JobTests(SynchronousTestCase):
    def test_uid(self) -> None:
        """A job without a uid cannot have a selector of its own."""
        job: Object = {"metadata": {"name": "a"}, "spec": {"template": {"spec": POD}}}
        generate_selector(job)
        (cause,) = validate_job(job, None, NAMING)
        self.assertEqual((cause.reason, cause.field), ("FieldValueRequired", "metadata.uid"))

    def test_order(self) -> None:
        """Generated fields stand in emission order."""
        template: Object = {
            "metadata": {"creationTimestamp": None, "labels": {"x": "y"}, "annotations": {"a": "b"}},
            "spec": POD,
        }
        selector = {"matchLabels": {"x": "y"}, "matchExpressions": [{"key": "x", "operator": "Exists"}]}
        job = {"metadata": {"name": "a", "uid": "u"}, "spec": {"selector": selector, "template": template}}
        codec, _ = codec_and_strategy("batch/v1", "Job")
        made = codec.normalise(job)
        generate_selector(made)
        self.assertEqual(list(made["spec"]), ["selector", "template"])
        self.assertEqual(list(made["spec"]["selector"]), ["matchLabels", "matchExpressions"])
        self.assertEqual(list(made["spec"]["template"]["metadata"]), ["creationTimestamp", "labels", "annotations"])
        self.assertEqual(list(made["metadata"]["labels"]), ["controller-uid", "job-name", "x"])
        self.assertEqual(template["metadata"]["labels"], {"x": "y"})


class SuccessIndexTests(SynchronousTestCase):
    def test_numbers_beyond_an_int64(self) -> None:
        """An index of more digits than an int64 has is rejected with a cause (reference KIND-95)."""
        for digits in ("1" * 19, "1" * 5000):
            rule = {"succeededIndexes": digits}
            spec = {"completionMode": "Indexed", "completions": 5, "successPolicy": {"rules": [rule]}}
            (cause,) = policy_causes(spec, "spec")
            self.assertEqual(cause.field, "spec.successPolicy.rules[0].succeededIndexes")
            self.assertIn(f'cannot convert string to integer for index: "{digits[:19]}', cause.message)


class CronJobTests(SynchronousTestCase):
    def refused(self, **spec: Any) -> list[tuple[str, str]]:
        """Fields and messages of the causes against a cron job."""
        job = {"spec": {"template": {"spec": POD}}}
        obj = {"metadata": {"name": "a"}, "spec": {"schedule": "@daily", "jobTemplate": job, **spec}}
        return [(cause.field, cause.message) for cause in validate_cron_job(obj, None, NAMING)]

    def test_zone_twice(self) -> None:
        """A zone stands in the schedule or in its own field."""
        schedule = "CRON_TZ=UTC @daily"
        text = 'Invalid value: "CRON_TZ=UTC @daily": cannot use both timeZone field and TZ or CRON_TZ in schedule'
        self.assertEqual(self.refused(schedule=schedule, timeZone="UTC"), [("spec.schedule", text)])
        self.assertEqual(self.refused(schedule=schedule), [])

    def test_zone(self) -> None:
        """It is one of the known ones, and none that depends on where the controller runs."""
        self.assertEqual(self.refused(timeZone="Europe/Berlin"), [])
        local = "timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones"
        for zone, text in [
            ("", "timeZone must be nil or non-empty string"),
            ("Local", local),
            ("Atlantis/Capital", "unknown time zone Atlantis/Capital"),
            ("America", "unknown time zone America"),
            ("../UTC", "time: invalid location name"),
            ("/UTC", "time: invalid location name"),
        ]:
            self.assertEqual(self.refused(timeZone=zone), [("spec.timeZone", f'Invalid value: "{zone}": {text}')])

    def test_stored_zone(self) -> None:
        """A cron job that has a zone from before may change it."""
        _, strategy = codec_and_strategy("batch/v1", "CronJob")
        for before, after, expected in [("UTC", "Europe/Berlin", "Europe/Berlin"), (None, "Europe/Berlin", None)]:
            old, new = (
                {"metadata": {}, "spec": {} if zone is None else {"timeZone": zone}} for zone in (before, after)
            )
            strategy.prepare_for_update(new, old)
            self.assertEqual(new["spec"].get("timeZone"), expected)
