"""The documents: pages made from the code, and commands that are really run."""
