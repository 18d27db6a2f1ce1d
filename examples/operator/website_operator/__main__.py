"""The operator as a program, with the kubeconfig or service account that it finds."""

import kubernetes

from website_operator.operator import Operator

configuration = kubernetes.client.Configuration()
kubernetes.config.load_config(client_configuration=configuration)
configuration.retries = False  # the operator's queue does that, and does not sleep meanwhile
Operator(kubernetes.client.ApiClient(configuration)).run()
