`kubectl get` shows the columns of every kind, made by the server as a Table; clients may also ask for metadata alone.
