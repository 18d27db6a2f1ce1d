`/api`, `/apis` and `/version` tell clients what is served, and requests to deprecated versions are answered with a warning.
