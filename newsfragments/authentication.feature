Users are known by client certificate or by the tokens of `--token-auth-file`; members of `system:masters` may do everything, and everybody else is refused with a correct 403.
