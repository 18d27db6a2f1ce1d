"""Kinds that come at run time: structural schemas as schema nodes, and their codec (reference CRD-11)."""
