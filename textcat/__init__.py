"""Re-run classic text categorization experiments, and train linear categorizers on your own documents."""

__version__ = "0.1.0"
