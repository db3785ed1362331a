"""Trains the network of `examples/digits.py` in several processes, each on its share of every batch.

    python examples/distributed/launch.py --processes 2 examples/distributed/digits.py --checkpoints out/steps
    python examples/distributed/launch.py --processes 2 examples/distributed/digits.py --checkpoints out/steps --resume

The layers are the same; on a mesh their batch index `n` is sharded, so that gradients of the parameters are summed over
the processes. Every few steps orbax saves the parameters, the optimiser's state and the step number. With `--resume`
training continues from there and ends with the same bits as an uninterrupted run: kill a process, and check with
`--compare`.
"""

import argparse
import itertools
import logging
import os
from pathlib import Path
from typing import Any

import jax
import numpy as np
import orbax.checkpoint as orbax

from examples.digits import Network, adam, batches, data, initial_parameters, most_likely, step_of

BATCH = 64

State = dict[str, Any]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--checkpoints", type=Path, required=True, help="a folder that all processes share")
    parser.add_argument("--resume", action="store_true", help="continue from the last checkpoint")
    parser.add_argument("--compare", action="store_true", help="train again without interruption, and compare the bits")
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--every", type=int, default=20, metavar="STEPS", help="steps between checkpoints")
    options = parser.parse_args()
    rank, count = jax.process_index(), jax.process_count()
    print(f"process {rank} of {count} is {os.getpid()}")

    mesh = jax.make_mesh((jax.device_count(),), ("batch",), axis_types=(jax.sharding.AxisType.Auto,))
    cut = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("batch"))
    whole = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec())
    network = Network(*(layer.sharded(mesh, {"n": "batch"}) for layer in Network()))

    images, test_images, labels, test_labels = data()
    steps = options.epochs * (len(images) // BATCH)
    optimiser = adam(steps)
    step = step_of(network, optimiser)
    parameters = initial_parameters(seed=0)
    start = {"parameters": parameters, "optimiser": optimiser.init(parameters)}
    # All processes start with the same numbers.
    start: State = jax.device_put(start, whole)

    def trained(state: State, begun: int, checkpoints: orbax.CheckpointManager | None) -> State:
        """The state after all steps, starting after step `begun`; checkpoints may be saved on the way."""
        order = batches(len(images), epochs=options.epochs, batch=BATCH)
        for number, chosen in itertools.islice(enumerate(order, 1), begun, None):
            parts = [shared(array, chosen, cut) for array in (images, labels)]
            parameters, moments, loss = step(state["parameters"], state["optimiser"], *parts)
            state = {"parameters": parameters, "optimiser": moments}
            if checkpoints is not None and (number % options.every == 0 or number == steps):
                checkpoints.save(number, args=orbax.args.StandardSave(state))
                if rank == 0:
                    print(f"step {number} of {steps}: loss {float(loss):.4f}")
        return state

    # Orbax logs more than warnings.
    logging.getLogger("absl").setLevel(logging.ERROR)
    with orbax.CheckpointManager(
        options.checkpoints.resolve(), options=orbax.CheckpointManagerOptions(max_to_keep=2, create=True)
    ) as checkpoints:
        state, begun = start, checkpoints.latest_step()
        if begun is not None:
            if not options.resume:
                raise SystemExit(f"there are checkpoints in {options.checkpoints}: add --resume or change folder")
            shapes = jax.tree.map(lambda array: jax.ShapeDtypeStruct(array.shape, array.dtype, sharding=whole), state)
            state = checkpoints.restore(begun, args=orbax.args.StandardRestore(shapes))
            print(f"process {rank} of {count} continues after step {begun}")
        state = trained(state, begun or 0, checkpoints)

    found = jax.tree.map(np.asarray, state["parameters"])
    if options.compare:
        undisturbed = jax.tree.map(np.asarray, trained(start, 0, None)["parameters"])
        same = all(np.array_equal(found[name], undisturbed[name]) for name in found)
        print(f"process {rank} of {count}: {'the same bits' if same else 'NOT the same bits'} as without interruption")
        assert same
    if rank == 0:
        read = np.asarray(most_likely(Network()(found, test_images)))
        print(f"{np.mean(read == test_labels):.1%} of {len(test_labels)} test digits read right")


def shared(array: np.ndarray, chosen: np.ndarray, cut: jax.sharding.NamedSharding) -> jax.Array:
    """The chosen rows; each process reads its own part of them."""

    def own(part: tuple[slice, ...] | None) -> np.ndarray:
        assert part is not None
        return array[chosen[part[0]]]

    return jax.make_array_from_callback((len(chosen), *array.shape[1:]), cut, own)


if __name__ == "__main__":
    main()
