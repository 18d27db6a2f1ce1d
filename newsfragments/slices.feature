Lists, watches and OpenAPI documents no longer hold up other requests: whatever takes long is done in slices of a few milliseconds, or in a thread, however many objects there are.
