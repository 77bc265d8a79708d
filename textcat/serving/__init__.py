"""Trained categorizers as directories: written by training, read to label and to explain new documents."""
