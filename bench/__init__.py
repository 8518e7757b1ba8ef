"""What came out: grids, intervals, tables, speed. Importing it makes the two built-in worlds known."""

from .cluster.kind import ClusterBench
from .grid.world_kinds import add_world
from .serverless.kind import ServerlessBench

add_world(ClusterBench())
add_world(ServerlessBench())
