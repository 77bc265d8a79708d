"""Readers of collections; web pages and the two forms of OHSUMED share a module."""
