"""Record and rules of CronJobs."""

from __future__ import annotations

from collections.abc import Mapping

from orchtw.errors import Cause
from orchtw.naming.naming import Naming
from orchtw.registry.groups.batch.job_validation import job_spec_causes
from orchtw.registry.groups.core.controller_rules import is_new_generation, template_of
from orchtw.registry.groups.core.pod_templates import set_pod_template_defaults
from orchtw.registry.groups.core.pod_warnings import warnings_of
from orchtw.registry.kind import KindRecord
from orchtw.registry.strategy import Strategy
from orchtw.registry.traits import SPEC
from orchtw.request import UserInfo
from orchtw.rules.cron import schedule_error, zone_error
from orchtw.schema.tables import cells_workloads
from orchtw.values.causes import invalid, not_supported
from orchtw.values.go_literals import SELECTOR, shown
from orchtw.values.names import SUBDOMAIN_NAME
from orchtw.wire.objects import Object

_TEMPLATE = "spec.jobTemplate.spec"
_LOCAL = "timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones"


class CronJobStrategy(Strategy):
    """Write rules of cron jobs: time zones, a feature that release 1.24 leaves off, are dropped unless already
    stored.
    """

    _has_zones = False

    def configure(self, gates: Mapping[str, bool]) -> None:
        self._has_zones = gates["CronJobTimeZone"]

    def prepare_for_create(self, obj: Object, user: UserInfo) -> None:
        super().prepare_for_create(obj, user)
        if not self._has_zones:
            obj["spec"].pop("timeZone", None)

    def prepare_for_update(self, new: Object, old: Object) -> None:
        if not self._has_zones and "timeZone" not in old["spec"]:
            new["spec"].pop("timeZone", None)
        super().prepare_for_update(new, old)


def set_cron_job_defaults(cron_job: Object) -> None:
    """Fill in the defaults of the pod template alone: jobs are completed when they are made."""
    set_pod_template_defaults(cron_job["spec"]["jobTemplate"]["spec"])


def validate_cron_job(new: Object, old: Object | None, naming: Naming) -> list[Cause]:
    """Schedule, time zone and the job to be made."""
    spec = new["spec"]
    causes = _schedule_causes(spec.get("schedule", ""), spec.get("timeZone")) + _zone_causes(spec.get("timeZone"))
    job = (spec.get("jobTemplate") or {}).get("spec") or {}
    causes += job_spec_causes(job, _TEMPLATE)
    if job.get("selector") is not None:
        selector = shown(SELECTOR, job["selector"])
        causes.append(invalid(f"{_TEMPLATE}.selector", selector, "`selector` will be auto-generated"))
    if job.get("manualSelector") is True:
        causes.append(not_supported(f"{_TEMPLATE}.manualSelector", True, ("nil", "false")))
    return causes


def warn_of_jobs(new: Object, old: Object | None, naming: Naming) -> list[str]:
    """Return warnings about the template of the jobs' pods, in writes that make a new generation."""
    if not is_new_generation(new, old):
        return []
    job = (new["spec"].get("jobTemplate") or {}).get("spec") or {}
    return warnings_of(template_of(job), f"{_TEMPLATE}.template", naming)


def _schedule_causes(schedule: str, zone: str | None) -> list[Cause]:
    causes = []
    if schedule and (error := schedule_error(schedule)):
        causes.append(invalid("spec.schedule", schedule, error))
    if zone is not None and "TZ" in schedule:
        detail = "cannot use both timeZone field and TZ or CRON_TZ in schedule"
        causes.append(invalid("spec.schedule", schedule, detail))
    return causes


def _zone_causes(zone: str | None) -> list[Cause]:
    if zone is None:
        return []
    if not zone:
        return [invalid("spec.timeZone", zone, "timeZone must be nil or non-empty string")]
    causes = [invalid("spec.timeZone", zone, _LOCAL)] if zone.lower() == "local" else []
    return [*causes, invalid("spec.timeZone", zone, error)] if (error := zone_error(zone)) else causes


CRON_JOB = KindRecord(
    group="batch",
    kind="CronJob",
    strategy=CronJobStrategy,
    generation=SPEC,
    orphans_in=("v1beta1",),
    name_form=SUBDOMAIN_NAME.shorter(52),  # leaves room for the suffix of its Jobs
    set_defaults=set_cron_job_defaults,
    validate=validate_cron_job,
    warn=warn_of_jobs,
    cells=cells_workloads.cron_job,
)
