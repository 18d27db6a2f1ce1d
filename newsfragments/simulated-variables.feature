Logs and remote commands of simulated pods see the variables of ConfigMaps, Secrets and Services.
