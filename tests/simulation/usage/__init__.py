"""Tests of simulated usage (`orchtw.simulation.usage`)."""
