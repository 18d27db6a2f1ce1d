`/openapi/v2` and `/openapi/v3` publish the schemas of custom kinds, as soon as they are served.
