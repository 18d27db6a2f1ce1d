"""Tests of the simulated shell (`orchtw.simulation.shell`)."""
