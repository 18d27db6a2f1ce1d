"""Service account tokens: the keys that sign them, how they are issued, and how they are authenticated.

A token's validity is checked against the caches on each request, so that deleting the account, Secret or pod revokes
it at once. The verb that issues tokens is in `verbs`, the controller that fills Secrets in `controllers`.
"""
