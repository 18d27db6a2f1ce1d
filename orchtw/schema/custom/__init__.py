"""Kinds that come at run time: structural schemas as schema nodes, and the codec of their objects (reference CRD-8)."""
