"""Kinds that come at run time: structural schemas as schema nodes, and codecs of their objects (reference CRD-8)."""
