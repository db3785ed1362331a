"""The verifier accepts sound functions and names what is unsound."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from tcjax import ir
from tcjax.symbolic import Affine, IndexVar, Size, SizeVar
from tests.elaboration.programs import elaborated

I, J, K = map(IndexVar, "ijk")
SOUND = """def f(float(N) A, int32(N) I, float(N,M) B, bool(N) b) -> (O, P, Q) {
    O(i) = b(i) ? exp(A(I(i) + 1)) * 2 : sum[k where k <= i](A(k)) where i in 0:N
    P(i) +=! B(i,j) where j in 0:i+1, b(j)
    Q = g(O)
}
def g(float(N) X) -> (Y) { Y(i) = mink[j](X(j), i) where i in 0:2 }"""


def one() -> ir.Const:
    return ir.Const(1.0, "float32")


def test_a_sound_function_passes() -> None:
    function = elaborated(SOUND)

    assert ir.verify(function) is None


def changed(statement: int, **fields: Any) -> Callable[[ir.Function], ir.Function]:
    """The function with fields of one statement replaced; a function as a field changes the field's value."""

    def change(function: ir.Function) -> ir.Function:
        old = function.statements[statement]
        new = {name: value(getattr(old, name)) if callable(value) else value for name, value in fields.items()}
        statements = list(function.statements)
        statements[statement] = replace(old, **new)
        return replace(function, statements=tuple(statements))

    return change


UNSOUND: dict[str, Callable[[ir.Function], ir.Function]] = {
    "an index that nothing binds": changed(
        0, value=lambda v: ir.Binary("+", v, ir.Cast(ir.Index(J), "float32"), "float32")
    ),
    "a subscript that nothing binds": changed(0, value=lambda v: ir.Access(_tensor(v), (Affine.of(J),))),
    "operands of two types": changed(0, value=lambda v: ir.Binary("+", v, ir.Const(1, "int32"), "float32")),
    "a result of another type": changed(0, value=lambda v: ir.Binary("+", v, one(), "float64")),
    "a value of another type than its target": changed(0, value=ir.Const(1.0, "float64")),
    "a comparison that is no bool": changed(0, value=lambda v: ir.Binary("<", v, one(), "float32")),
    "a condition that is no bool": changed(0, value=lambda v: ir.Select(one(), v, v, "float32")),
    "a constant of another Python type": changed(0, value=ir.Const(1, "float32")),
    "an unknown type": changed(0, value=lambda v: ir.Cast(ir.Cast(v, "float31"), "float32")),
    "an unknown operator": changed(0, value=lambda v: ir.Binary("@", v, v, "float32")),
    "true division of integers": changed(
        0, value=ir.Cast(ir.Binary("/", ir.Const(1, "int32"), ir.Const(2, "int32"), "int32"), "float32")
    ),
    "a wrong number of subscripts": changed(0, value=lambda v: ir.Access(_tensor(v), ())),
    "a wrong number of left subscripts": changed(0, indices=()),
    "a subscript that is not an integer": changed(
        0, value=lambda v: ir.Access(_tensor(v), (Affine.of(ir.Data(ir.Const(1.0, "float32"))),))
    ),
    "a tensor that is not defined": changed(0, value=ir.Access(ir.Tensor("X", "float32", ()), ())),
    "a tensor of another type than defined": changed(
        0, value=lambda v: ir.Access(replace(_tensor(v), shape=(Size.of(7),)), (Affine.of(I),))
    ),
    "a builtin of too few values": changed(0, value=lambda v: ir.Call("pow", (v,), "float32")),
    "a reduction over nothing": changed(0, value=lambda v: _reduce(v, ())),
    "a reduction over a bound index": changed(0, value=lambda v: _reduce(v, (I,))),
    "a reduction over an index twice": changed(0, value=lambda v: _reduce(v, (K, K))),
    "a reduction that lacks its rank": changed(0, value=lambda v: replace(_reduce(v, (K,)), reducer=ir.Reducer.MINK)),
    "a reduction of another type than its body": changed(
        0, value=lambda v: ir.Cast(replace(_reduce(v, (K,)), dtype="int32"), "float32")
    ),
    "a guard that is no bool": changed(1, domain=lambda d: replace(d, guard=one())),
    "a range that uses an unbound index": changed(
        1, domain=lambda d: replace(d, ranges=(ir.Range(J, Affine.of(0), Affine.of(K)),))
    ),
    "a range of an index that does not occur": changed(
        1, domain=lambda d: replace(d, ranges=(ir.Range(K, Affine.of(0), Affine.of(1)),))
    ),
    "a ragged range of what is not defined": changed(
        1,
        domain=lambda d: replace(
            d,
            ranges=(ir.Range(J, Affine.of(0), Affine.of(ir.Data(ir.Access(ir.Tensor("ends", "int32", ()), ())))),),
        ),
    ),
    "two ranges of an index": changed(1, domain=lambda d: replace(d, ranges=d.ranges * 2)),
    "a left index that is reduced": changed(1, reduction=(I, J)),
    "an index reduced twice": changed(1, reduction=(J, J)),
    "a missing reduction index": changed(1, reduction=()),
    "a statement that takes a rank": changed(1, reducer=ir.Reducer.MAXK),
    "any of floats": changed(1, reducer=ir.Reducer.ANY),
    "an unknown type of accumulation": changed(1, accumulate="float31"),
    "an input that is written": changed(1, target=lambda t: replace(t, name="A")),
    "a tensor that changes its type": changed(1, target=lambda t: replace(t, name="O", dtype="float64")),
    "a call with too few arguments": changed(2, arguments=()),
    "a call with an argument of another rank": changed(
        2, arguments=(ir.Tensor("B", "float32", (Size.of(SizeVar("N")), Size.of(SizeVar("M")))),)
    ),
    "a call with an undefined argument": changed(2, arguments=(ir.Tensor("X", "float32", (Size.of(1),)),)),
    "a result of another type than the callee's": changed(
        2, targets=(ir.Tensor("Q", "int32", (Size.of(SizeVar("Q.0")),)),)
    ),
    "a return that nothing defines": lambda f: replace(f, returns=(ir.Tensor("X", "float32", ()),)),
    "a return of another type": lambda f: replace(f, returns=(replace(f.returns[0], dtype="int32"),)),
    "two parameters of one name": lambda f: replace(f, parameters=(*f.parameters, f.parameters[0])),
}


@pytest.mark.parametrize("change", UNSOUND.values(), ids=UNSOUND.keys())
def test_it_refuses(change: Callable[[ir.Function], ir.Function]) -> None:
    function = change(elaborated(SOUND))

    with pytest.raises(AssertionError):
        ir.verify(function)


def test_it_looks_into_callees() -> None:
    function = elaborated(SOUND)
    call = function.statements[2]
    assert isinstance(call, ir.Invoke)

    broken = replace(call.function, returns=(replace(call.function.returns[0], dtype="int32"),))

    with pytest.raises(AssertionError):
        ir.verify(changed(2, function=broken, targets=broken.returns)(function))


def _tensor(value: ir.Expr) -> ir.Tensor:
    """The tensor `A`, read somewhere in the value."""
    return next(access.tensor for access in ir.accesses(value) if access.tensor.name == "A")


def _reduce(body: ir.Expr, indices: tuple[IndexVar, ...]) -> ir.Reduce:
    return ir.Reduce(ir.Reducer.SUM, indices, (), None, one(), None, "float32", body.dtype)
