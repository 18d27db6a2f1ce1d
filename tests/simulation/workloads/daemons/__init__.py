"""Tests of the controller of DaemonSets (`orchtw.simulation.workloads.daemons`)."""
