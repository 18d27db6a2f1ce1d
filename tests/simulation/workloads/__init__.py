"""Tests of the controllers of workloads (`orchtw.simulation.workloads`)."""
