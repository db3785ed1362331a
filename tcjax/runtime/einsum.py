"""`einsum` over any semiring: the product and the sum are arguments."""

from collections.abc import Callable, Hashable, Sequence
from functools import lru_cache
from typing import Any, Final

import jax
import jax.numpy as jnp

from .. import ir
from ..diagnostics import NOWHERE, Code, CompileError, phrases
from ..elaboration import reducers
from ..ranges import MOST_DIMENSIONS
from .arguments import check_type, read_array
from .entry import kernel
from .kernel import Kernel
from .labels import Labels, extents, names, read_lists, read_text, separate

_OPERATORS: Final = ("*", "+", "-", "/", "//", "%", "&&", "||", "&", "|", "^", "<<", ">>")
_COMPARISONS: Final = ("<", "<=", ">", ">=", "==", "!=")
_REDUCTIONS: Final = ("+", "*", *(reducer.value for reducer in ir.Reducer if not reducer.is_ranked))
_SPELLINGS: Final = {"sum": "+", "prod": "*"}
_PRODUCTS: Final = ("*", "mul", "multiply")


def einsum(
    subscripts: Any,
    /,
    *operands: Any,
    precision: Any = None,
    preferred_element_type: Any = None,
    out_sharding: Any = None,
    combine: str | Callable[[jax.Array, jax.Array], jax.Array] = "*",
    reduce: str = "+",
) -> jax.Array:
    """`jnp.einsum`, over any semiring in place of products and sums.

    ``einsum("ik,kj->ij", A, B, combine="+", reduce="min")`` is the min-plus product of two matrices. `combine` is a
    binary operator of the language, ``"min"``, ``"max"``, the name of a builtin of two arguments such as ``"hypot"``,
    or a function of two scalars in JAX; it combines the operands' elements from the left. `reduce` is one of ``+ * min
    max any all mean logsumexp argmin argmax``, or a reduction that `tcjax.monoid` registered. A position is row-major
    over the labels that are not in the result, in order of first appearance.

    The subscripts are those of `jnp.einsum`: an implied result, ellipses, diagonals, dimensions of size 1 that
    broadcast, and lists of labels after each operand. Sums of products are left to `jnp.einsum` itself; `precision`
    applies only to them. The reduction runs in `preferred_element_type`, if that can hold the operands' type, and the
    result has this type. Raises `CompileError` for subscripts or operands that do not fit.
    """
    reduce = _SPELLINGS.get(reduce, reduce) if isinstance(reduce, str) else reduce
    if isinstance(combine, str) and combine in _PRODUCTS and reduce == "+":
        return _plain(subscripts, operands, precision, preferred_element_type, out_sharding)
    operator, fns = _operator(combine)
    registered = _reduction(reduce)
    given, lists, implied = _parts(subscripts, operands)
    arrays = _arrays(given)
    labels = _labels(subscripts, lists, implied, arrays)
    sizes = extents(labels, [array.shape for array in arrays])
    wide = _result_type(arrays, preferred_element_type)
    arrays = [array if array.dtype == wide else array.astype(wide) for array in arrays]
    arrays, labels = _squeezed(arrays, labels, sizes)
    run = _kernel(_text(labels, operator, reduce), fns, registered)
    result = run(*arrays)
    if preferred_element_type is not None and not reduce.startswith("arg"):
        result = result.astype(preferred_element_type)
    return result if out_sharding is None else _placed(result, out_sharding)


def _plain(
    subscripts: Any, operands: tuple[Any, ...], precision: Any, preferred_element_type: Any, out_sharding: Any
) -> jax.Array:
    """The result of `jnp.einsum`, with its errors reworded."""
    given, lists, result = _parts(subscripts, operands)
    arrays = _arrays(given)
    if lists is None:
        arguments: list[Any] = [subscripts, *arrays]
    else:
        paired = [part for pair in zip(arrays, lists, strict=True) for part in pair]
        arguments = [*paired, *([] if result is None else [result])]
    try:
        found = jnp.einsum(
            *arguments,
            precision=precision,
            preferred_element_type=preferred_element_type,
            out_sharding=out_sharding,
        )
    except (ArithmeticError, AttributeError, LookupError, NotImplementedError, TypeError, ValueError) as error:
        extents(_labels(subscripts, lists, result, arrays), [array.shape for array in arrays])
        said = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise CompileError(
            Code.BAD_OPTION, f"`jnp.einsum` refuses these arguments: {said}", help="see the documentation of jnp.einsum"
        ) from error
    if found.ndim > MOST_DIMENSIONS:
        # JAX can build it, but NumPy has no array for it.
        raise CompileError(
            Code.TOO_LARGE,
            f"the result has {found.ndim} dimensions, and an array has at most {MOST_DIMENSIONS}",
            help="put several labels into one dimension",
        )
    return found


def _placed(result: jax.Array, out_sharding: Any) -> jax.Array:
    try:
        return jax.sharding.reshard(result, out_sharding)
    except (TypeError, ValueError) as error:
        raise CompileError(
            Code.BAD_OPTION,
            f"out_sharding={phrases.value(out_sharding)} is not a sharding of the result: {str(error).splitlines()[0]}",
            help="pass a PartitionSpec or a NamedSharding with an entry for each dimension of the result",
        ) from error


def _operator(combine: Any) -> tuple[str, tuple[tuple[str, Callable[..., Any]], ...]]:
    """How two values are combined: a text with two placeholders, and the Python functions that the text calls."""
    if callable(combine):
        return "combined({}, {})", (("combined", combine),)
    if combine in ("mul", "multiply"):
        return "({} * {})", ()
    if combine == "**":
        return "pow({}, {})", ()
    if isinstance(combine, str):
        if combine in _OPERATORS or combine in _COMPARISONS:
            return f"({{}} {combine} {{}})", ()
        builtin = ir.builtins.BUILTINS.get(combine)
        if combine in ("min", "max") or (builtin is not None and builtin.arity == 2):
            return f"{combine}({{}}, {{}})", ()
    binary = sorted(name for name, builtin in ir.builtins.BUILTINS.items() if builtin.arity == 2)
    raise CompileError(
        Code.BAD_OPTION,
        f"combine={phrases.value(combine)} is not a way to combine two values",
        help=f"combine is one of {' '.join((*_OPERATORS, *_COMPARISONS, 'min', 'max', *binary))}, or a function of two "
        "scalars",
    )


def _reduction(reduce: Any) -> Hashable:
    """The meaning of `reduce` besides its name: a registered reduction, whose name may be registered again."""
    if isinstance(reduce, str) and reduce in _REDUCTIONS:
        return None
    found = reducers.registered(reduce) if isinstance(reduce, str) else None
    if found is None:
        raise CompileError(
            Code.BAD_OPTION,
            f"reduce={phrases.value(reduce)} is not a reduction",
            help=f"reduce is one of {' '.join(_REDUCTIONS)}, or a name that `tcjax.monoid` registered",
        )
    return found


def _parts(subscripts: Any, operands: tuple[Any, ...]) -> tuple[list[Any], list[Any] | None, Any]:
    """The operands; if each is followed by its labels, these, and the labels of the result or None."""
    if isinstance(subscripts, str):
        return list(operands), None, None
    return separate((subscripts, *operands))


def _labels(subscripts: Any, lists: list[Any] | None, result: Any, arrays: Sequence[jax.Array]) -> Labels:
    shapes = [array.shape for array in arrays]
    return read_text(subscripts, shapes) if lists is None else read_lists(lists, result, shapes)


def _arrays(operands: Sequence[Any]) -> list[jax.Array]:
    if not operands:
        raise CompileError(Code.WRONG_ARGUMENT_COUNT, "there is no operand", help='write `einsum("ij,jk->ik", A, B)`')
    return [_array(operand, number) for number, operand in enumerate(operands)]


def _array(operand: Any, number: int) -> jax.Array:
    # Python numbers have no type of their own, and stay weakly typed.
    array = operand if type(operand) in (bool, int, float, complex) else read_array(operand, f"operand {number}")
    if isinstance(array, jax.Array) and jnp.issubdtype(array.dtype, jax.dtypes.extended):
        check_type(str(array.dtype), f"operand {number}", None, NOWHERE)
    try:
        return jnp.asarray(array)
    except (TypeError, ValueError, OverflowError) as error:
        raise CompileError(
            Code.ARGUMENT_TYPE,
            f"operand {number} is {phrases.value(operand)}, which JAX cannot hold",
            help="convert it first, for instance with np.asarray(x, 'float32')",
        ) from error


def _result_type(arrays: Sequence[jax.Array], preferred: Any) -> Any:
    """The type of the computation."""
    try:
        own = jnp.result_type(*arrays)
        return own if preferred is None else jnp.promote_types(own, preferred)
    except (TypeError, ValueError) as error:
        raise CompileError(
            Code.ARGUMENT_TYPE,
            f"these types have no type in common: {str(error).splitlines()[0]}",
            help="pass arrays of one type, and a type of numbers as preferred_element_type",
        ) from error


def _squeezed(arrays: Sequence[jax.Array], labels: Labels, sizes: dict[Any, int]) -> tuple[list[jax.Array], Labels]:
    """The arrays without dimensions of size 1 whose label has a longer extent elsewhere."""
    kept: list[jax.Array] = []
    operands = []
    for array, own in zip(arrays, labels.operands, strict=True):
        alone = tuple(
            number
            for number, (label, extent) in enumerate(zip(own, array.shape, strict=True))
            if extent == 1 and sizes[label] != 1
        )
        kept.append(jax.lax.squeeze(array, alone) if alone else array)
        operands.append(tuple(label for number, label in enumerate(own) if number not in alone))
    return kept, Labels(tuple(operands), labels.result)


def _text(labels: Labels, operator: str, reduce: str) -> str:
    """The definition that computes it."""
    index = names(labels)
    tensors = [f"x{number}" for number in range(len(labels.operands))]
    reads = [
        f"{tensor}({', '.join(index[label] for label in own)})"
        for tensor, own in zip(tensors, labels.operands, strict=True)
    ]
    value = reads[0]
    for read in reads[1:]:
        value = operator.format(value, read)
    left = f"y({', '.join(index[label] for label in labels.result)})"
    # Labels are not names that could be misspelt: independent sums are intended.
    return f"def einsum({', '.join(tensors)}) -> (y) {{ {left} {reduce}=! {value} }}  # tcjax: ignore[TC1209]"


def _kernel(text: str, fns: tuple[tuple[str, Callable[..., Any]], ...], registered: Hashable) -> Kernel:
    try:
        return _cached(text, fns, registered)
    except TypeError:
        # A function that is not hashable.
        return kernel(text, fns=dict(fns))


@lru_cache(maxsize=512)
def _cached(text: str, fns: tuple[tuple[str, Callable[..., Any]], ...], registered: Hashable) -> Kernel:
    return kernel(text, fns=dict(fns))
