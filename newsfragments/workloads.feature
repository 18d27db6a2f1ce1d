Deployments, replica sets, stateful sets, daemon sets, jobs, cron jobs, autoscalers, disruption budgets and pod security policies are validated by the release's rules.
Jobs get the selector and labels by which their controller knows their pods.
