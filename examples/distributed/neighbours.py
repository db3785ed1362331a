"""Finds nearest neighbours of points that are distributed over processes, without storing a table of distances.

    python examples/distributed/launch.py --processes 2 examples/distributed/neighbours.py --points 4000

The index of the query points is sharded, that of the candidates is not: every process compares its own points with all
points. The memory limit holds for each device; the memory that XLA reports is printed.
"""

import argparse

import jax
import numpy as np
from sklearn.neighbors import NearestNeighbors

import tcjax

NEIGHBOURS = 5

PROGRAM = f"""
def nearest(float(N,D) x, float(M,D) y) -> (near) {{
    near(i,r) = argmink[j](sum[d]((x(i,d) - y(j,d)) * (x(i,d) - y(j,d))), r) where r in 0:{NEIGHBOURS}
}}"""


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--points", type=int, default=4000)
    parser.add_argument("--dimensions", type=int, default=3)
    parser.add_argument("--limit", type=int, default=2048, metavar="KIB", help="temporary memory of a device")
    options = parser.parse_args()
    rank, count = jax.process_index(), jax.process_count()

    mesh = jax.make_mesh((jax.device_count(),), ("points",), axis_types=(jax.sharding.AxisType.Auto,))
    here = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("points"))
    drawn = np.random.default_rng(0).normal(size=(options.points, options.dimensions)).astype(np.float32)
    asking = jax.make_array_from_callback(drawn.shape, here, lambda rows: drawn[rows])

    nearest = tcjax.kernel(PROGRAM, memory_limit=options.limit * 1024).sharded(mesh, {"i": "points"})
    near = nearest(asking, drawn)

    compiled = nearest.explain(asking, drawn, compiled=True).to_dict()["compiled"]
    needed, own = compiled["forward"]["temporary_bytes"] // 1024, near.addressable_shards[0].data.shape[0]
    table = 4 * own * options.points // 1024
    print(f"process {rank} of {count}: {needed} KiB temporary on a device; a table of its distances has {table} KiB")
    assert needed <= options.limit
    assert compiled["collectives"] == [], "every process already holds what it needs"

    # Points at equal distance may come in any order, so distances are compared.
    expected, _ = NearestNeighbors(n_neighbors=NEIGHBOURS, algorithm="brute").fit(drawn).kneighbors(drawn)
    for block in near.addressable_shards:
        found = np.linalg.norm(drawn[block.index[0], None].astype(float) - drawn[np.asarray(block.data)], axis=-1)
        apart = float(np.abs(found - expected[block.index[0]]).max())
        print(f"process {rank} of {count}: distances differ from scikit-learn's by {apart:.1e} at most")
        assert apart <= 1e-3


if __name__ == "__main__":
    main()
