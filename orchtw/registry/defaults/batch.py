"""Jobs and what makes them."""

from __future__ import annotations

from orchtw.objects import Object
from orchtw.registry.defaults.core import label, template_labels
from orchtw.registry.defaults.places import put
from orchtw.registry.defaults.pod import fill_pod_template

_SPEC = (
    *("parallelism", "completions", "activeDeadlineSeconds", "backoffLimit", "selector", "manualSelector"),
    *("template", "ttlSecondsAfterFinished", "completionMode", "suspend"),
)


def fill_job(job: Object) -> None:
    """One pod, once, unless either number is given; labels are those of the template where there are none."""
    spec = job["spec"]
    if "completions" not in spec and "parallelism" not in spec:
        put(spec, "completions", 1, _SPEC)
    for key, value in (("parallelism", 1), ("backoffLimit", 6), ("completionMode", "NonIndexed"), ("suspend", False)):
        if key not in spec:
            put(spec, key, value, _SPEC)
    label(job, template_labels(spec))
    fill_pod_template(spec)


def fill_cron_job(cron_job: Object) -> None:
    """The pod template alone: jobs are completed when they are made."""
    fill_pod_template(cron_job["spec"]["jobTemplate"]["spec"])
