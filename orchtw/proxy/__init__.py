"""Requests that are answered elsewhere: aggregated servers, Services, Pods and node agents."""
