"""Particular rules of each kind: one record a kind (`KINDS`), in one module or package an API group.

The functions that the records name stand beside them: strategies, defaults that depend on other fields, validation.
A default that does not depend on anything stands in the protos, and is filled in before these run.
"""
