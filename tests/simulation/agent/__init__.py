"""Tests of the agent of simulated nodes (`orchtw.simulation.agent`)."""
