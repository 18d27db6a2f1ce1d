"""Tests of the controller of Jobs (`orchtw.simulation.workloads.jobs`)."""
