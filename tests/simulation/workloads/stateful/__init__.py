"""Tests of the controller of StatefulSets (`orchtw.simulation.workloads.stateful`)."""
