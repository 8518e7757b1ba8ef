"""Gymnasium's interfaces over lanes; they know no world."""
