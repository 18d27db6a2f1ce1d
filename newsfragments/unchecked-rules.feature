A custom resource whose errors keep its rules from being checked is told so, and rules are checked beside all other errors.
