"""The shapes of learned parameters follow from the inputs."""

from tcjax.elaboration import elaborate
from tcjax.elaboration.signature import Argument
from tcjax.layers.shapes import parameter_shapes
from tcjax.syntax import tc


def test_several_open_dimensions_of_one_parameter_follow_from_the_inputs() -> None:
    program = tc.read("def last(x, w) -> (y) { y(n,o) = sum[h,v,c](x(n,h,v,c) * w(o,h,v,c)) }")
    types = {"x": Argument("float32", 4), "w": Argument("float32", 4)}
    function = elaborate(program.definitions[0], program, types, {})

    shapes = parameter_shapes(function, ("w",), {"o": 10}, {"x": (2, 5, 6, 7)})

    assert shapes == {"w": (10, 5, 6, 7)}
