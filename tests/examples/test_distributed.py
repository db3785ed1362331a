"""The examples in several processes: results equal to one process, in time, and one line for a process that dies."""

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.processes import LAUNCHER, ROOT, launched, started

FOLDER = LAUNCHER.parent


@pytest.mark.parametrize("processes", [2, 4])
def test_heat_spreads_over_processes_as_in_one(processes: int) -> None:
    """Each of them compares its rows with those of a kernel on one device."""
    printed = launched(FOLDER / "heat.py", "--size", 32, "--steps", 6, processes=processes)

    assert sum("differ from one process by" in line for line in printed) == processes
    # The halos of six steps, each a row of 32 elements of 4 bytes.
    assert printed[0] == "[0] collective-permute of 768 B, 1 times: a halo of 6 in dimension 0"


def test_nearest_neighbours_of_points_in_two_processes_keep_the_limit_of_memory() -> None:
    """Each of them compares with scikit-learn, and checks the memory that XLA reports for a device."""
    printed = launched(FOLDER / "neighbours.py", "--points", 900, "--limit", 512)

    found = [re.search(r"(\d+) KiB temporary .* has (\d+) KiB", line) for line in printed]
    needed = [(int(each[1]), int(each[2])) for each in found if each is not None]
    assert len(needed) == 2
    assert all(temporary <= 512 < table for temporary, table in needed)


def test_a_training_whose_process_is_killed_goes_on_to_the_same_numbers(tmp_path: Path) -> None:
    given = ["--checkpoints", tmp_path / "steps", "--epochs", 2, "--every", 6]
    command = [LAUNCHER, FOLDER / "digits.py", *given]
    told: list[str] = []
    with started(command) as running:
        assert running.stdout is not None
        for line in running.stdout:
            told.append(line.rstrip("\n"))
            # The checkpoint before this one is complete.
            if "step 18 of" in line:
                process = next(int(each.split()[-1]) for each in told if "process 1 of 2 is" in each)
                os.kill(process, signal.SIGKILL)
                killed = time.monotonic()
        seconds = time.monotonic() - killed
    again = launched(FOLDER / "digits.py", *given, "--resume", "--compare")

    assert told[-1] == "launch: rank 1 of 2 was killed by SIGKILL; the other one was ended"
    assert running.returncode == 128 + signal.SIGKILL
    assert seconds < 10
    for rank in (0, 1):
        assert any(re.match(rf"\[{rank}\] .* continues after step (12|18|24)$", line) for line in again)
        assert f"[{rank}] process {rank} of 2: the same bits as without interruption" in again


# ---------------------------------------------------------------- the launcher, with ranks that have no JAX

STUB = """
import os, signal, sys, threading, time
sys.path.insert(0, {folder!r})
from rank import end_with_the_launcher, stay_on_its_core
stay_on_its_core()
threading.Thread(target=end_with_the_launcher, daemon=True).start()
address, count, rank, devices, program, *arguments = sys.argv[1:]
exec(open(program).read())
"""
DRIVER = """
import importlib.util, pathlib, sys
spec = importlib.util.spec_from_file_location("launch", sys.argv[1])
launch = importlib.util.module_from_spec(spec)
spec.loader.exec_module(launch)
launch.RANK = pathlib.Path(sys.argv[2])
sys.exit(launch.main(sys.argv[3:]))
"""


def stubbed(tmp_path: Path, program: str, *options: object) -> list[object]:
    """The command that launches a program whose ranks know `rank`, and nothing of JAX."""
    (tmp_path / "stub.py").write_text(STUB.format(folder=str(FOLDER)))
    (tmp_path / "program.py").write_text(program)
    return ["-c", DRIVER, LAUNCHER, tmp_path / "stub.py", *options, tmp_path / "program.py"]


def ran(command: list[object]) -> subprocess.CompletedProcess[str]:
    given = [sys.executable, *map(str, command)]
    return subprocess.run(given, capture_output=True, text=True, cwd=ROOT, check=False, timeout=30)


def is_gone(process: int) -> bool:
    latest = time.monotonic() + 10
    while time.monotonic() < latest:
        try:
            os.kill(process, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.05)
    return False


def test_what_ranks_print_comes_out_with_their_numbers(tmp_path: Path) -> None:
    program = "print('hello', rank, 'of', count); print('no end of line', end='', file=sys.stderr)"

    launch = ran(stubbed(tmp_path, program, "--processes", 3))

    assert launch.returncode == 0
    assert sorted(launch.stdout.splitlines()) == [f"[{n}] hello {n} of 3" for n in range(3)]
    assert sorted(launch.stderr.splitlines()) == [f"[{n}] no end of line" for n in range(3)]


@pytest.mark.skipif(not hasattr(os, "SCHED_BATCH"), reason="only Linux has batch scheduling")
def test_a_pinned_rank_has_one_core_and_is_a_batch_process(tmp_path: Path) -> None:
    program = "print(*os.sched_getaffinity(0), os.sched_getscheduler(0) == os.SCHED_BATCH)"

    launch = ran(stubbed(tmp_path, program, "--processes", 1, "--pin"))

    assert launch.stdout == f"[0] {min(os.sched_getaffinity(0))} True\n"


@pytest.mark.parametrize(
    ("death", "status", "told"),
    [
        ("sys.exit(7)", 7, "rank 1 of 3 ended with exit status 7; the other 2 were ended"),
        ("os.kill(os.getpid(), signal.SIGKILL)", 137, "rank 1 of 3 was killed by SIGKILL; the other 2 were ended"),
        ("os.kill(os.getpid(), signal.SIGSEGV)", 139, "rank 1 of 3 was killed by SIGSEGV; the other 2 were ended"),
    ],
)
def test_a_rank_that_dies_ends_the_others_with_one_line(tmp_path: Path, death: str, status: int, told: str) -> None:
    """Errors of the others about the broken connection are left out; the dead rank's errors are not."""
    program = f"""
if rank == "1":
    time.sleep(0.3)
    print("oh no", file=sys.stderr, flush=True)
    {death}
signal.signal(signal.SIGTERM, signal.SIG_IGN)
time.sleep(0.3)
while True:
    print("connection lost", file=sys.stderr, flush=True)
    time.sleep(0.05)
"""
    start = time.monotonic()

    launch = ran(stubbed(tmp_path, program, "--processes", 3))

    assert time.monotonic() - start < 20
    assert launch.returncode == status
    lines = launch.stderr.splitlines()
    assert lines[-1] == f"launch: {told}"
    assert "[1] oh no" in lines


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_ranks_end_with_their_launcher(tmp_path: Path, how: signal.Signals) -> None:
    program = "print(os.getpid(), flush=True)\ntime.sleep(60)"

    with started(stubbed(tmp_path, program, "--processes", 2)) as running:
        assert running.stdout is not None
        ranks = [int(running.stdout.readline().split()[-1]) for _ in range(2)]
        running.send_signal(how)
        rest = running.stdout.read()

    assert all(map(is_gone, ranks))
    assert running.returncode == (-how if how is signal.SIGKILL else 128 + how)
    assert rest == ("launch: interrupted; all ranks have ended\n" if how is signal.SIGINT else "")


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--processes", "0", __file__], "launch: argument --processes: '0' is not a number from 1 to 64"),
        (["--processes", "two", __file__], "launch: argument --processes: 'two' is not a number from 1 to 64"),
        (["--processes", "2", "nowhere.py"], "launch: there is no file 'nowhere.py'"),
        (["--processes", "2"], "launch: name a program, as in"),
        (["--procesess", "2", __file__], "launch: there is no option '--procesess'"),
        (["--pin", "--processes", "64", __file__], "launch: --pin: 64 processes need 64 cores, and there are "),
    ],
)
def test_a_mistake_in_the_options_is_one_line(options: list[str], told: str) -> None:
    launch = ran([LAUNCHER, *options])

    assert launch.returncode == 2
    assert launch.stderr.startswith(told) and launch.stderr.count("\n") == 1
