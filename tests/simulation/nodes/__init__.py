"""Tests of the simulated nodes and of the controllers that watch over nodes."""
