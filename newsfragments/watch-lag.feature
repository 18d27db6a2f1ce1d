The metric `orchtw_watch_lag_seconds` shows, for each resource, the age of the oldest event that a slow watch has not been sent; the console plots it.
