`--service-map` and `--service-map-file` let Services lead to processes of the tester: webhooks, conversion, aggregated APIs and `services/proxy` are dialled there, loopback included.
