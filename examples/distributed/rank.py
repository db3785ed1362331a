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
    # A proxy, which the environment may name, is not for the way back here.
    jax.config.update("jax_check_proxy_envs", False)
    # It would take SIGTERM for a warning, and the launcher means it.
    jax.config.update("jax_enable_preemption_service", False)
    jax.distributed.initialize(
        address,
        num_processes=int(count),
        process_id=int(rank),
        # Nobody else need reach the coordinator, which is rank 0.
        coordinator_bind_address=address,
        # The launcher sees at once who dies. This is for a process that hangs.
        heartbeat_timeout_seconds=30,
    )
    sys.argv = [program, *arguments]
    # What lies beside the program, and other examples.
    sys.path[:1] = [str(Path(program).resolve().parent), str(Path(__file__).resolve().parents[2])]
    status = run(program)
    sys.stdout.flush()
    sys.stderr.flush()
    if status:
        # Without the others, who are in the middle of something: JAX would wait for them.
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
    """The exit status of a Python file."""
    try:
        runpy.run_path(program, run_name="__main__")
    except SystemExit as end:
        if isinstance(end.code, str):
            print(end.code, file=sys.stderr)
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException as error:
        # From the program on: how it was started is no news.
        here = error.__traceback__
        while here is not None and here.tb_next is not None and here.tb_frame.f_code.co_filename != program:
            here = here.tb_next
        traceback.print_exception(error.with_traceback(here))
        return 1
    return 0


def end_with_the_launcher() -> None:
    """The launcher writes nothing; when it is gone, the pipe from it ends."""
    os.read(0, 1)
    os._exit(1)


if __name__ == "__main__":
    main()
