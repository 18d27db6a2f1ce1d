"""The controller of HorizontalPodAutoscalers: replicas by use (SIM-53)."""
