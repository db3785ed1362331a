"""What something is expected to cost: seconds, and what they are spent on."""

from dataclasses import dataclass, field

from .machine import CPU, Machine


@dataclass(frozen=True, slots=True, order=True)
class Price:
    """Predicted `seconds`, and `bytes` that are moved (transposes included).

    Of the seconds, kernels that wait for memory take those of `memory`; what begins kernels, trips of loops and choices
    takes `overhead`; the rest is `compute`. Prices compare by their seconds. What operations a plan has and what memory
    it needs, `costs` says.
    """

    seconds: float
    bytes: int
    memory: float = field(default=0.0, compare=False)
    overhead: float = field(default=0.0, compare=False)

    @staticmethod
    def waiting(seconds: float) -> "Price":
        """Overhead alone."""
        return Price(seconds, 0, 0.0, seconds)

    @property
    def compute(self) -> float:
        """The seconds of kernels whose arithmetic takes longer than their memory."""
        return self.seconds - self.memory - self.overhead

    def __add__(self, other: "Price") -> "Price":
        """Both in sequence."""
        seconds, moved = self.seconds + other.seconds, self.bytes + other.bytes
        return Price(seconds, moved, self.memory + other.memory, self.overhead + other.overhead)

    def __sub__(self, other: "Price") -> "Price":
        """The difference, by component."""
        seconds, moved = self.seconds - other.seconds, self.bytes - other.bytes
        return Price(seconds, moved, self.memory - other.memory, self.overhead - other.overhead)

    def limit(self, machine: Machine = CPU) -> str:
        """What takes most of the time: ``memory`` or ``compute``."""
        return "memory" if 2 * machine.traffic(self.bytes) >= self.seconds else "compute"

    def __mul__(self, times: int) -> "Price":
        """The same, repeated."""
        return Price(self.seconds * times, self.bytes * times, self.memory * times, self.overhead * times)


NOTHING = Price(0.0, 0)
