"""Tests of the controller of Deployments (`orchtw.simulation.workloads.deployments`)."""
