"""The controller of CronJobs: Jobs at times of a schedule (SIM-47)."""
