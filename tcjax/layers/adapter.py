"""The interface between the recipe of a ready-made layer and its framework."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import jax

from .initial import Initializer, Unboxed
from .recipes import recipe
from .shapes import Shape

Keep = Callable[[jax.Array], None]


@dataclass(frozen=True)
class Adapter(ABC):
    """A ready-made layer as its recipe sees it. Each framework has a subclass.

    The options are attributes of `layer`; both of Flax's interfaces give them the same names. `flax` is the method of
    Flax's class that is being called: it computes the cases that the recipe leaves to Flax. `usual` has the defaults of
    options whose default is not None but changes nothing.
    """

    # Flax's module with the promotion rules for arrays.
    dtypes: ClassVar[Any]

    layer: Any
    flax: Any = None
    usual: Mapping[str, Any] = field(default_factory=dict[str, Any])

    @abstractmethod
    def parameter(self, name: str, shape: Shape | None = None) -> jax.Array | None:
        """The value of a parameter, None if the layer does not use it.

        `shape` is for frameworks that create parameters in the first call; None if the adapter knows it.
        """

    @abstractmethod
    def average(self, name: str, first: Callable[..., jax.Array], shape: Shape) -> tuple[jax.Array, Keep | None]:
        """A running average, initially ``first(shape, float32)``, and the function that replaces it (None: it is
        read-only).
        """

    @abstractmethod
    def promoted(self, *arrays: jax.Array | None, **options: Any) -> Sequence[Any]:
        """The arrays, cast to the type that the layer computes in."""

    def result_type(self, *arrays: jax.Array | None) -> Any:
        """The type of a result computed from these arrays."""
        return self.dtypes.canonicalize_dtype(*arrays, dtype=self.layer.dtype)

    def is_given(self, options: Sequence[str], arguments: Sequence[Any] = ()) -> bool:
        """Whether one of these options of the layer is set, or one of these arguments of the call is not None."""
        set_options = (getattr(self.layer, name, None) is not self.usual.get(name) for name in options)
        return any(set_options) or any(argument is not None for argument in arguments)


@dataclass(frozen=True, slots=True)
class Learned:
    """The parameters of a layer that Flax does not have, and how `program` uses its kernels, which determines the
    fan-in.
    """

    shapes: dict[str, Shape]
    program: str
    kernels: tuple[str, ...]

    def each(
        self, kernel_init: Initializer, bias_init: Initializer, unboxed: Unboxed
    ) -> Iterator[tuple[str, Initializer, Shape]]:
        """Each parameter with its initialiser and its shape; names that end in "bias" get the bias initialiser."""
        own = recipe(self.program, dict.fromkeys(self.kernels, kernel_init))
        for name, shape in self.shapes.items():
            init = bias_init if name.endswith("bias") else kernel_init
            yield name, own.initializer(name, init, unboxed) if name in self.kernels else init, shape
