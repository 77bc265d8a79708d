"""Tables, figures, HTML pages and the reproduction matrix."""
