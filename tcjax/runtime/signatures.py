"""A kernel's parameters as a Python signature: for `inspect.signature`, `help`, and editors."""

from inspect import Parameter, Signature

from .frontends import Frontend


def signature_of(frontend: Frontend) -> Signature:
    """The arguments of a call, annotated with their declared types: ``(A: 'float(M,K)', *, C=None)``.

    Initial values of outputs, and sizes that no array determines, are keywords. Raises `ValueError` for a name that is
    reserved in Python.
    """
    initial, sizes = frontend.keywords
    arrays = [
        Parameter(
            parameter.name,
            Parameter.POSITIONAL_OR_KEYWORD,
            annotation=Parameter.empty if parameter.type is None else parameter.type,
        )
        for parameter in frontend.parameters
    ]
    keywords = [Parameter(name, Parameter.KEYWORD_ONLY, default=None) for name in initial]
    keywords += [Parameter(name, Parameter.KEYWORD_ONLY, annotation="int") for name in sizes]
    results = frontend.results
    returned = results[0] if len(results) == 1 else f"({', '.join(results)})"
    return Signature([*arrays, *keywords], return_annotation=returned if results else Signature.empty)
