"""Collections: one module each."""
