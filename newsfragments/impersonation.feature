Impersonate headers let an administrator act as another user, group or service account; whoever may not is refused.
