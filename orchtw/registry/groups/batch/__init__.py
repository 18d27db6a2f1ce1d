"""Jobs and cron jobs."""

from __future__ import annotations

from orchtw.registry.groups.batch.cron_jobs import CRON_JOB
from orchtw.registry.groups.batch.jobs import JOB

KINDS = (CRON_JOB, JOB)
