"""Conversion of objects from one version of a kind to another."""
