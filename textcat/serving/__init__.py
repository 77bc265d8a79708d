"""Model directories: written by `train`, read to label and to explain new documents."""
