"""Solves the heat equation on a plate whose rows are distributed over processes, and compares with one process.

    python examples/distributed/launch.py --processes 2 examples/distributed/heat.py --size 256 --steps 200

The sharded index is `i`. In each step every process needs one row of each neighbour. It receives the rows for several
steps at once, and nothing else: `explain` says so before anything runs.
"""

import argparse
import time

import jax
import numpy as np

import tcjax

PROGRAM = """
def heat(float(N,M) u0, float c) -> (u) {
    u(i,j) = u0(i,j)
    for t in 0:STEPS {
        v(i,j) = u(i,j)
        u(i,j) = v(i,j) + c * (v(wrap(i-1),j) + v(wrap(i+1),j) + pad(v(i,j-1), 0) + pad(v(i,j+1), 0) - 4 * v(i,j))
            where i in 0:N, j in 0:M
    }
}"""
SPREAD = np.float32(0.2)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--size", type=int, default=256, help="rows and columns of the plate")
    parser.add_argument("--steps", type=int, default=200)
    options = parser.parse_args()
    rank, count = jax.process_index(), jax.process_count()

    mesh = jax.make_mesh((jax.device_count(),), ("rows",), axis_types=(jax.sharding.AxisType.Auto,))
    here = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("rows"))
    heat = tcjax.kernel(PROGRAM, consts={"STEPS": options.steps})
    spread = heat.sharded(mesh, {"i": "rows"})

    # Every process draws the whole plate; JAX asks for the rows of its own devices.
    drawn = np.random.default_rng(0).normal(size=(options.size, options.size)).astype(np.float32)
    plate = jax.make_array_from_callback(drawn.shape, here, lambda rows: drawn[rows])
    if rank == 0:
        for told in spread.explain(plate, SPREAD).to_dict()["collectives"]:
            print(f"{told['operation']} of {told['bytes']} B, {told['times']} times: {told['reason']}")

    jax.block_until_ready(spread(plate, SPREAD))
    start = time.perf_counter()
    later = jax.block_until_ready(spread(plate, SPREAD))
    seconds = time.perf_counter() - start

    alone = np.asarray(heat(drawn, SPREAD))
    for block in later.addressable_shards:
        apart = float(np.abs(np.asarray(block.data) - alone[block.index]).max())
        first, last, _ = block.index[0].indices(options.size)
        print(f"process {rank} of {count}: rows {first} to {last - 1} differ from one process by {apart:.1e} at most")
        assert apart <= 1e-6, "the halos differ from the neighbours' rows"
    print(f"process {rank} of {count}: {options.steps} steps in {1e3 * seconds:.1f} ms")


if __name__ == "__main__":
    main()
