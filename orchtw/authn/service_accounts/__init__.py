"""Tokens of service accounts: the keys that sign them, how they are issued, and how they are known again.

What a token means is decided from the caches on each request, so that deleting the account, Secret or pod revokes it
at once. The verb that issues tokens on request is in `verbs`, the controller that fills Secrets in `controllers`.
"""
