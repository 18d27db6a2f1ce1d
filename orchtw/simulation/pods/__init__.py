"""Pods of simulated nodes, which go through the states that a node agent would give them (reference SIM-20)."""
