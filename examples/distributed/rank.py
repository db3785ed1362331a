"""One of the processes that `launch.py` starts: joins the others, then runs the program.

python examples/distributed/launch.py --processes 2 program.py
"""

import os
import runpy
import sys
import threading
import traceback
from pathlib import Path


def main() -> None:
    address, count, rank, devices, program, *arguments = sys.argv[1:]
    threading.Thread(target=end_with_the_launcher, daemon=True).start()
    # Before JAX counts the cores for its threads.
    stay_on_its_core()
    import jax

    jax.config.update("jax_num_cpu_devices", int(devices))
    jax.config.update("jax_cpu_collectives_implementation", "gloo")
    # Connections to this machine must not use a proxy from the environment.
    jax.config.update("jax_check_proxy_envs", False)
    # JAX would treat SIGTERM as a preemption warning; here it means exit.
    jax.config.update("jax_enable_preemption_service", False)
    jax.distributed.initialize(
        address,
        num_processes=int(count),
        process_id=int(rank),
        # Only processes on this machine need to reach the coordinator, rank 0.
        coordinator_bind_address=address,
        # The launcher notices at once when a rank dies. This is for a rank that hangs.
        heartbeat_timeout_seconds=30,
    )
    sys.argv = [program, *arguments]
    # Modules next to the program, and other examples.
    sys.path[:1] = [str(Path(program).resolve().parent), str(Path(__file__).resolve().parents[2])]
    status = run(program)
    sys.stdout.flush()
    sys.stderr.flush()
    if status:
        # Exit without a barrier: JAX would wait for the other ranks, which may be busy.
        os._exit(status)
    jax.distributed.shutdown()


def stay_on_its_core() -> None:
    """Where the launcher gives a core to each rank: this process runs on it, all its threads in turn."""
    core = os.environ.get("RANK_CORE")
    if core is None:
        return
    os.sched_setaffinity(0, {int(core)})
    # gloo's thread must not interrupt the one that computes. If that holds the lock of a connection, gloo asks for it
    # again and again until its time slice of 3 ms is over. A batch thread waits until the other one rests.
    if hasattr(os, "SCHED_BATCH"):
        os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))


def run(program: str) -> int:
    """Runs a Python file; returns its exit status."""
    try:
        runpy.run_path(program, run_name="__main__")
    except SystemExit as end:
        if isinstance(end.code, str):
            print(end.code, file=sys.stderr)
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException as error:
        # The traceback from the program on: frames of the launcher are left out.
        here = error.__traceback__
        while here is not None and here.tb_next is not None and here.tb_frame.f_code.co_filename != program:
            here = here.tb_next
        traceback.print_exception(error.with_traceback(here))
        return 1
    return 0


def end_with_the_launcher() -> None:
    """Exits when the launcher is gone: it never writes to the pipe, so reading ends only then."""
    os.read(0, 1)
    os._exit(1)


if __name__ == "__main__":
    main()
