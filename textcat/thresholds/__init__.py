"""Turn scores into decisions, by a threshold per category or a rule over all scores, and into probabilities."""
