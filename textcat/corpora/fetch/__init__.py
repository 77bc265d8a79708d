"""Fetch collections: sources, downloads, archives, verification."""
