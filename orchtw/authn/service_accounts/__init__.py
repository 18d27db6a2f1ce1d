"""Service account tokens: the keys that sign them, how they are issued, their claims and the objects they refer to.

`authenticator.py` authenticates them. The verb that issues tokens is in `verbs`, the controller that fills Secrets in
`controllers`.
"""
