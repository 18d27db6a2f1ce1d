Servers on one etcd elect the one whose controllers work without being told to, and together write six times a minute at rest.
