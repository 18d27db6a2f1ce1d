"""Definitions of custom resources as well-known operators bring them, in shape and size, and objects of their kinds.

Written anew: certificates, monitoring, GitOps, databases, gateways. Extensions are in the neutral spelling;
`in_vocabulary` turns a definition or an object into the vocabulary of a server.
"""
