"""Writes programs in another notation."""

from .. import ir
from ..diagnostics import Code, CompileError
from ..syntax import tc
from .definitions import Definition
from .frontends import Frontend


def written(frontend: Frontend, dialect: str, function: ir.Function | None) -> str:
    """The program as text; `function` is the typed program for some arguments, None if it does not depend on them.

    Raises `CompileError`: TC0109 for what the notation cannot express, TC0505 if arguments are needed.
    """
    from .. import translation
    from ..syntax import embedded, sac

    if dialect == ("tc" if isinstance(frontend, Definition) else "sac"):
        return frontend.text()
    if isinstance(frontend, Definition) and dialect == "python":
        return "\n".join(map(embedded.write, frontend.definitions))
    if function is None and not (dialect == "sac" and isinstance(frontend, Definition) and frontend.is_batched):
        function = frontend.likely
    if function is None:
        raise CompileError(
            Code.UNKNOWN_RANK,
            f"without arguments nothing says what `{frontend.name}` is in another notation",
            frontend.span,
            help=f"pass arguments, or their shapes: `k.to({dialect!r}, jax.ShapeDtypeStruct((4, 3), 'float32'))`",
        )
    if dialect == "latex":
        from .. import typesetting

        with frontend.within_depth():
            return typesetting.latex(typesetting.typeset(function))
    if dialect == "sac":
        return sac.write(translation.to_sac(function)).rstrip("\n")
    program = translation.to_tc(function)
    return tc.write(program) if dialect == "tc" else "\n".join(map(embedded.write, program.definitions))
