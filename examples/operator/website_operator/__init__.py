"""Operator of websites: pages in a ConfigMap, and a record of the host in another place."""
