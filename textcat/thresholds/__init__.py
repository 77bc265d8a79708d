"""From scores to decisions: one threshold a category, or a rule over all scores at once; and to probabilities."""
