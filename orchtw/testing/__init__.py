"""For tests against a real server: the API server as a child process, and `kubectl` as a user runs it.

Shipped, so that an operator's or a client's own tests can use it; nothing in the server imports it.
"""
