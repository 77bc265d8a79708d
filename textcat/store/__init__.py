"""What the stages leave on disk: verified artifacts under keys made of everything that went into them."""

from textcat.store.artifacts import Artifact, Recipe, Store, canonical_json, hash_json

__all__ = ["Artifact", "Recipe", "Store", "canonical_json", "hash_json"]
