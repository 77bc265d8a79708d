"""Printed tables and claims of the papers, and the verdict on measured numbers."""
