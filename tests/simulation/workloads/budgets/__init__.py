"""Tests of the controller of PodDisruptionBudgets (`orchtw.simulation.workloads.budgets`)."""
