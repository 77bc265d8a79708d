"""The steps of an experiment: each is a recipe (what decides the result) and a function that makes it."""
