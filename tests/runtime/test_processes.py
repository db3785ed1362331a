"""Kernels on a mesh of several processes, each of which holds a part of the arrays."""

from pathlib import Path

from tests.processes import launched


def test_two_processes_compute_what_one_does_and_say_what_they_cannot_see() -> None:
    printed = launched(Path(__file__).with_name("process_cases.py"))

    expected = [
        "arrays of all processes: True",
        "NumPy's, the same in every process: True",
        "a sum over processes: True",
        "with a limit: True",
        "checked: True",
        "gradient: True",
        "collectives: True",
        "interpreted: other processes hold parts of `A`, and all of its values are needed here",
    ]
    assert printed == [f"[{rank}] {line}" for rank in (0, 1) for line in expected]
