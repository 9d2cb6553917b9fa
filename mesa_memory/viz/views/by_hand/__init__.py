"""The views of probes, interventions and forks."""
