"""Tests of the controller of CronJobs (`orchtw.simulation.workloads.cron`)."""
