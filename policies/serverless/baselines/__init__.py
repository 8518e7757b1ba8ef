"""Baselines that ESG is compared with and that decide at every visit."""
