Front proxies can pass on the uid of a user: --requestheader-uid-headers, and X-Remote-Uid to aggregated servers.
