"""Starts a program in several processes on this machine, whose devices form one mesh for JAX.

    python examples/distributed/launch.py --processes 2 examples/distributed/heat.py --size 256

Each process is a rank. `rank.py` connects it with the others through `jax.distributed` and runs the program; its output
is prefixed with the rank. The launcher exits with the program's status. When a rank dies, or on Ctrl-C, it ends the
others at once: otherwise they would wait for the dead rank, and then fail with many lines of errors.

On a cluster, use its launcher instead (`srun`, `mpirun`); the program then calls `jax.distributed.initialize()` itself.
"""

import argparse
import os
import selectors
import signal
import socket
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, NoReturn

RANK = Path(__file__).with_name("rank.py")

# Seconds for which a rank's error output is held back: another rank may have died, and its errors are the cause.
HELD = 0.5
# Seconds that ranks have to exit after SIGTERM.
GRACE = 2.0
# Lines from C++ libraries that do not report errors.
NOISE = (b"[Gloo] Rank ",)


@dataclass
class Rank:
    """A process and its output so far: incomplete lines, and error output that is held back."""

    number: int
    process: subprocess.Popen[bytes]
    begun: dict[int, bytes] = field(default_factory=dict)
    held: list[tuple[float, bytes]] = field(default_factory=list)

    def lines(self, pipe: BinaryIO) -> list[bytes] | None:
        """The lines available in a pipe; None at its end."""
        text = os.read(pipe.fileno(), 1 << 16)
        lines = (self.begun.pop(pipe.fileno(), b"") + text).splitlines(keepends=True)
        if text and lines and not lines[-1].endswith(b"\n"):
            self.begun[pipe.fileno()] = lines.pop()
        return [line for line in lines if not line.startswith(NOISE)] if text or lines else None

    def tell(self, lines: list[bytes], where: BinaryIO) -> None:
        for line in lines:
            where.write(b"[%d] %s\n" % (self.number, line.rstrip()))
        where.flush()

    def tell_held(self, until: float) -> None:
        """Prints held-back error output from before a time."""
        self.tell([line for moment, line in self.held if moment <= until], sys.stderr.buffer)
        self.held = [(moment, line) for moment, line in self.held if moment > until]


def main(arguments: list[str] | None = None) -> int:
    """Runs the program; its exit status, that of the first rank that fails, or 128 and the signal that killed it."""
    options = parse(arguments)
    # On Ctrl-C and `kill`, the ranks are ended on the way out.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    ranks: list[Rank] = []
    try:
        address = f"127.0.0.1:{free_port()}"
        for number in range(options.processes):
            ranks.append(start(number, address, options))
        failed = follow(ranks)
        if failed is None:
            return 0
        end(ranks)
        say(told(failed, len(ranks)))
        return exit_status(failed.process.returncode)
    except KeyboardInterrupt:
        end(ranks)
        say("interrupted; all ranks have ended")
        return 128 + signal.SIGINT
    except BrokenPipeError:
        # The reader is gone, as after `| head`.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    finally:
        end(ranks)


class Parser(argparse.ArgumentParser):
    """Reports a usage error in one line."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"launch: {message}\n")


def parse(arguments: list[str] | None) -> argparse.Namespace:
    parser = Parser(prog="launch", description=(__doc__ or "").splitlines()[0], allow_abbrev=False)
    parser.add_argument("--processes", type=count_of, default=2, metavar="N", help="how many (2)")
    parser.add_argument("--devices", type=count_of, default=1, metavar="N", help="CPU devices of each process (1)")
    parser.add_argument("--pin", action="store_true", help="pin each process to its own core")
    parser.add_argument("program", nargs="?", type=Path, help="a Python file")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, help="the program's own arguments")
    options, unknown = parser.parse_known_args(arguments)
    if unknown:
        parser.error(f"there is no option {unknown[0]!r}")
    if options.program is None:
        parser.error("name a program, as in `launch.py --processes 2 program.py`")
    if not options.program.is_file():
        parser.error(f"there is no file {str(options.program)!r}")
    if options.pin:
        if not hasattr(os, "sched_setaffinity"):
            parser.error("--pin: this system cannot pin processes to cores")
        cores = len(os.sched_getaffinity(0))
        if cores < options.processes:
            parser.error(f"--pin: {options.processes} processes need {options.processes} cores, and there are {cores}")
    return options


def count_of(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= 64:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from 1 to 64")
    return int(text)


def free_port() -> int:
    """A free port of the loopback interface."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def start(number: int, address: str, options: argparse.Namespace) -> Rank:
    """A rank that runs the program. It exits when the launcher is gone, because its standard input ends."""
    given = [address, options.processes, number, options.devices, options.program, *options.arguments]
    environment = {
        "JAX_PLATFORMS": "cpu",
        **os.environ,
        "PYTHONUNBUFFERED": "1",
        # Connections to this machine must not use a proxy.
        "no_grpc_proxy": "127.0.0.1",
    }
    if options.pin:
        environment["RANK_CORE"] = str(sorted(os.sched_getaffinity(0))[number])
    process = subprocess.Popen(
        [sys.executable, str(RANK), *map(str, given)],
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        # The launcher handles Ctrl-C and ends the ranks.
        start_new_session=True,
    )
    return Rank(number, process)


def follow(ranks: list[Rank]) -> Rank | None:
    """Prints the ranks' output until all have succeeded; returns the first one that failed."""
    with selectors.DefaultSelector() as selector:
        for rank in ranks:
            for pipe in (rank.process.stdout, rank.process.stderr):
                selector.register(pipe, selectors.EVENT_READ, rank)  # pyright: ignore[reportArgumentType]
        failed = None
        while failed is None and (selector.get_map() or any(rank.process.poll() is None for rank in ranks)):
            ready = selector.select(timeout=0.05)
            # First the failure: later errors of the others follow from it.
            failed = next((rank for rank in ranks if rank.process.poll()), None)
            for key, _ in ready:
                _pass_on(key, selector)
            for rank in ranks:
                rank.tell_held(time.monotonic() - HELD if failed is None else 0)
        for key in [*selector.get_map().values()]:
            if key.data is not failed:
                selector.unregister(key.fileobj)
        # The rest of its output.
        while selector.get_map() and (ready := selector.select(timeout=HELD)):
            for key, _ in ready:
                _pass_on(key, selector)
    for rank in ranks if failed is None else [failed]:
        rank.tell_held(time.monotonic())
    return failed


def _pass_on(key: selectors.SelectorKey, selector: selectors.BaseSelector) -> None:
    """Prints or holds back the output in a pipe; stops watching a pipe that has ended."""
    rank: Rank = key.data
    pipe: BinaryIO = key.fileobj  # pyright: ignore[reportAssignmentType]
    lines = rank.lines(pipe)
    if lines is None:
        selector.unregister(pipe)
    elif pipe is rank.process.stdout:
        rank.tell(lines, sys.stdout.buffer)
    else:
        rank.held += [(time.monotonic(), line) for line in lines]


def end(ranks: list[Rank]) -> None:
    """Ends the remaining ranks, within seconds."""
    running = [rank.process for rank in ranks if rank.process.poll() is None]
    for process in running:
        process.terminate()
    latest = time.monotonic() + GRACE
    for process in running:
        try:
            process.wait(max(0, latest - time.monotonic()))
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def told(failed: Rank, count: int) -> str:
    """Which rank failed, how, and what happened to the others."""
    status = failed.process.returncode
    how = f"ended with exit status {status}" if status > 0 else f"was killed by {signal_name(-status)}"
    others = {1: "", 2: "; the other one was ended"}.get(count, f"; the other {count - 1} were ended")
    return f"rank {failed.number} of {count} {how}{others}"


def signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def exit_status(code: int) -> int:
    return code if code > 0 else 128 - code


def say(line: str) -> None:
    print(f"launch: {line}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
