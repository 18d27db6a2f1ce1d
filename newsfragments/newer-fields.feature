Fields that built-in kinds have gained since release 1.24, such as sidecar containers, scheduling gates, pod failure policies and traffic distribution, are served, with their defaults and validation.
