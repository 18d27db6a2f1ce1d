"""Tests of the pods of simulated nodes (`orchtw.simulation.pods`)."""
