"""Jobs and what makes them."""

from __future__ import annotations

from orchtw.objects import Object
from orchtw.registry.emission_order import put
from orchtw.registry.groups.core.controllers import label, template_labels
from orchtw.registry.groups.core.pod_templates import set_pod_template_defaults
from orchtw.registry.kind import Kind
from orchtw.registry.traits import SPEC
from orchtw.rules.names import SUBDOMAIN_NAME
from orchtw.schema.tables import cells_workloads

_SPEC = (
    *("parallelism", "completions", "activeDeadlineSeconds", "backoffLimit", "selector", "manualSelector"),
    *("template", "ttlSecondsAfterFinished", "completionMode", "suspend"),
)


def set_job_defaults(job: Object) -> None:
    """One pod, once, unless either number is given; labels are those of the template where there are none."""
    spec = job["spec"]
    if "completions" not in spec and "parallelism" not in spec:
        put(spec, "completions", 1, _SPEC)
    for key, value in (("parallelism", 1), ("backoffLimit", 6), ("completionMode", "NonIndexed"), ("suspend", False)):
        if key not in spec:
            put(spec, key, value, _SPEC)
    label(job, template_labels(spec))
    set_pod_template_defaults(spec)


def set_cron_job_defaults(cron_job: Object) -> None:
    """The pod template alone: jobs are completed when they are made."""
    set_pod_template_defaults(cron_job["spec"]["jobTemplate"]["spec"])


JOB = Kind(
    group="batch",
    kind="Job",
    generation=SPEC,
    orphans_in=("v1",),
    set_defaults=set_job_defaults,
    cells=cells_workloads.job,
)
CRON_JOB = Kind(
    group="batch",
    kind="CronJob",
    generation=SPEC,
    orphans_in=("v1beta1",),
    name_form=SUBDOMAIN_NAME.shorter(52),  # leaves room for the suffix of its Jobs
    set_defaults=set_cron_job_defaults,
    cells=cells_workloads.cron_job,
)

KINDS = (CRON_JOB, JOB)
