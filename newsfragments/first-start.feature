The first start makes keys, certificates and `admin.kubeconfig`; later starts renew certificates that near their end.
