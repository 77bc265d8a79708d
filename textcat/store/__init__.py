"""Verified artifacts on disk, each under a key that depends on everything that determines its contents."""

from textcat.store.artifacts import Artifact, Recipe, Store, canonical_json, hash_json

__all__ = ["Artifact", "Recipe", "Store", "canonical_json", "hash_json"]
