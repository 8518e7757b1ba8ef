"""Gymnasium's interfaces on top of lanes, independent of any particular world."""
