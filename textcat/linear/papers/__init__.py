"""The algorithms as the papers state them, with pass counts as printed."""
