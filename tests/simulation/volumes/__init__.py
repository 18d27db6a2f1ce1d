"""Tests of the volumes of the simulated cluster (`orchtw.simulation.volumes`)."""
