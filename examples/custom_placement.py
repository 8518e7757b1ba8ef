"""A custom placement, benchmarked against PAL: the fastest single node, or PM-First if no node holds the gang."""

import jax.numpy as jnp
import varigym
from varigym.envs.cluster.allocation import fastest_bins, node_bottlenecks, one_node


def fast_node(profile, app_class, free, demand, key):
    """Always use a single node if any can hold the gang, however slow it is."""
    level, bins = profile.level[app_class], profile.value.shape[1]
    bottlenecks = node_bottlenecks(level, bins, free, demand)
    best = jnp.min(bottlenecks)
    together = one_node(level, best, bottlenecks, free, demand)
    return jnp.where(best < bins, together, fastest_bins(level, bins, free, demand)[0])


varigym.add_placement(varigym.Placement("fast-node", fast_node, "example", class_first=True))

if __name__ == "__main__":
    varigym.configure(x64=True)
    varigym.show_results(varigym.compare("sia-64", ["fifo+packed+sticky", "pal", "fifo+fast-node"], seeds=10))
