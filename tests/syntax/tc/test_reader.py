"""TC text is read as the right tree."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tcjax.diagnostics import CompileError
from tcjax.syntax import ast, tc

from .programs import PROGRAMS

BUILTINS = """acos acosh asin asinh atan atanh cbrt ceil cos cosh cospi cyl_bessel_i0 cyl_bessel_i1 erf erfc erfcinv
erfcx erfinv exp exp10 exp2 expm1 fabs floor j0 j1 lgamma log log10 log1p log2 logb normcdf normcdfinv
rcbrt round rsqrt sin sinh sinpi sqrt tan tanh tgamma trunc y0 y1 atan2 copysign fdim fdivide fmax fmin
fmod hypot nextafter pow remainder rhypot fma norm3d rnorm3d norm4d rnorm4d"""

TYPES = {
    **{name: name for name in ("bool", "uint8", "uint16", "uint32", "uint64", "int8", "int16", "int32", "int64")},
    **{name: name for name in ("float16", "float32", "float64", "bfloat16", "complex64", "complex128")},
    **{"float": "float32", "double": "float64", "half": "float16", "byte": "uint8", "int": "int32"},
}


def statements(text: str) -> tuple[ast.Statement, ...]:
    (definition,) = tc.read(text).definitions
    return definition.body


def assign(text: str) -> ast.Assign:
    (statement,) = statements(text)
    assert isinstance(statement, ast.Assign)
    return statement


def expression(text: str) -> ast.Expr:
    return assign(f"O = {text}").value


def grouped(expr: ast.Expr) -> str:
    """An expression with every operation in parentheses, written without the writer."""
    match expr:
        case ast.Number(value):
            return str(value)
        case ast.Name(id):
            return id
        case ast.Unary(operator, operand):
            return f"({operator}{grouped(operand)})"
        case ast.Binary(operator, left, right):
            return f"({grouped(left)}{operator}{grouped(right)})"
        case ast.Conditional(condition, then, otherwise):
            return f"({grouped(condition)}?{grouped(then)}:{grouped(otherwise)})"
        case _:
            raise NotImplementedError(expr)


# ---------------------------------------------------------------- definitions


def test_a_definition_has_its_parameters_returns_and_body() -> None:
    program = tc.read("def mm(float(M,3) A, double b) -> (C, int32(M) D) { C(m) +=! A(m,k) * b }")

    read = ast.Binary("*", ast.Apply("A", (ast.Name("m"), ast.Name("k"))), ast.Name("b"))
    assert program == ast.Program(
        (
            ast.Definition(
                "mm",
                (
                    ast.Parameter("A", ast.TensorType("float32", ("M", 3))),
                    ast.Parameter("b", ast.TensorType("float64", ())),
                ),
                (ast.Parameter("C"), ast.Parameter("D", ast.TensorType("int32", ("M",)))),
                (ast.Assign("C", (ast.Name("m"),), "+", True, read),),
            ),
        )
    )


def test_a_text_without_def_is_one_definition_called_kernel() -> None:
    (definition,) = tc.read("C(m) = A(m)  D(m) = C(m)").definitions

    assert (definition.name, definition.parameters, definition.returns) == ("kernel", None, ())
    assert [statement.target for statement in definition.body if isinstance(statement, ast.Assign)] == ["C", "D"]


def test_of_two_definitions_with_one_name_the_first_counts() -> None:
    program = tc.read("def f(float a) -> (b) { b = a } def g() -> () {} def f(float a) -> (c) { c = a }")

    assert [definition.name for definition in program.definitions] == ["f", "g"]
    assert program.definitions[0].returns == (ast.Parameter("b"),)
    assert [(definition.name, definition.returns) for definition in program.repeated] == [("f", (ast.Parameter("c"),))]


def test_bare_parameters_have_no_type() -> None:
    (definition,) = tc.read("def mm(A, B) -> (C) { C = 3 }").definitions

    assert definition.parameters == (ast.Parameter("A"), ast.Parameter("B"))


@pytest.mark.parametrize("returns", ["(C)", "C"])
def test_the_parentheses_of_returns_may_be_left_out(returns: str) -> None:
    (definition,) = tc.read(f"def f(float(N) A) -> {returns} {{ C(i) = A(i) }}").definitions

    assert definition.returns == (ast.Parameter("C"),)


@pytest.mark.parametrize(("spelling", "canonical"), TYPES.items())
def test_every_type_is_read_in_a_declaration_and_in_a_cast(spelling: str, canonical: str) -> None:
    (definition,) = tc.read(f"def f({spelling}(N) A, {spelling} s) -> (C) {{ C = {spelling}(s) }}").definitions

    assert definition.parameters == (
        ast.Parameter("A", ast.TensorType(canonical, ("N",))),
        ast.Parameter("s", ast.TensorType(canonical, ())),
    )
    assert definition.body == (ast.Assign("C", None, None, False, ast.Cast(canonical, ast.Name("s"))),)


@pytest.mark.parametrize("word", ["half", "byte", "int", "bfloat16", "complex64", "and", "or", "not"])
def test_a_word_that_the_text_declares_stays_a_name(word: str) -> None:
    (definition,) = tc.read(f"def f(float(N) {word}) -> (C) {{ C(i) = {word}(i) + {word}(i) }}").definitions

    read = ast.Apply(word, (ast.Name("i"),))
    assert definition.body == (ast.Assign("C", (ast.Name("i"),), None, False, ast.Binary("+", read, read)),)


@pytest.mark.parametrize("word", ["for", "let", "true", "false", "long", "inf", "nan", "Info", "nano", "sum", "any"])
def test_these_are_names(word: str) -> None:
    assert expression(f"{word} + {word}(i)") == ast.Binary("+", ast.Name(word), ast.Apply(word, (ast.Name("i"),)))


def test_comments_are_ignored_anywhere() -> None:
    text = "# a {\ndef f(#b\nfloat a#c )\n) -> (b) { b#=\n = # d\na }\n# e"

    assert tc.read(text) == tc.read("def f(float a) -> (b) { b = a }")


@pytest.mark.parametrize("text", PROGRAMS)
def test_every_program_reads_and_writes_back_to_itself(text: str) -> None:
    program = tc.read(text)

    assert tc.read(tc.write(program)) == program


# ---------------------------------------------------------------- statements


@pytest.mark.parametrize("sign", ["+", "*", "min", "max", "any", "all", "logsumexp", "argmin", "argmax", "gcd"])
def test_every_reduction_is_an_assignment_with_and_without_a_restart(sign: str) -> None:
    for mark, restart in (("", False), ("!", True)):
        for left in ("O(i)", "O"):
            statement = assign(f"{left} {sign}={mark} A(i,j)")

            assert (statement.reducer, statement.restart) == (sign, restart)


def test_a_plain_assignment_has_no_reducer() -> None:
    assert assign("O(i) = !a") == ast.Assign("O", (ast.Name("i"),), None, False, ast.Unary("!", ast.Name("a")))


def test_the_exclamation_mark_belongs_to_the_assignment_only_where_it_touches_it() -> None:
    assert assign("O any=!a").restart
    assert assign("O any= !a") == ast.Assign("O", None, "any", False, ast.Unary("!", ast.Name("a")))
    assert assign("O =!a") == ast.Assign("O", None, None, False, ast.Unary("!", ast.Name("a")))


def test_a_scalar_is_assigned_with_or_without_parentheses() -> None:
    assert assign("O +=! A(i)").indices is None
    assert assign("O() +=! A(i)").indices == ()


def test_a_left_side_may_be_computed() -> None:
    indices = assign("H(I(i), 2*i + r, 0) +=! 1.0").indices

    assert indices == (
        ast.Apply("I", (ast.Name("i"),)),
        ast.Binary("+", ast.Binary("*", ast.Number(2), ast.Name("i")), ast.Name("r")),
        ast.Number(0),
    )


def test_a_call_has_several_targets() -> None:
    assert statements("O1, O2 = f(A, B(0))") == (
        ast.CallAssign(("O1", "O2"), "f", (ast.Name("A"), ast.Apply("B", (ast.Number(0),)))),
    )


def test_a_call_with_one_target_is_an_assignment() -> None:
    assert assign("O = f(A, B)").value == ast.Apply("f", (ast.Name("A"), ast.Name("B")))


def test_a_declaration_stands_alone() -> None:
    assert statements("float(K, 3) z half w") == (
        ast.Declare("z", ast.TensorType("float32", ("K", 3))),
        ast.Declare("w", ast.TensorType("float16", ())),
    )


def test_an_equivalent_call_is_kept() -> None:
    statement = assign("O(i) = A(i) <=> relu(A, 3) where i in 0:3")

    assert statement.equivalent == ast.Equivalent("relu", (ast.Name("A"), ast.Number(3)))
    assert len(statement.where) == 1


@pytest.mark.parametrize(
    ("text", "targets"),
    [
        ("c(i) = a(i) b(i) = c(i)", "c b"),
        ("c=a b=c", "c b"),
        ("c = a b any= c d =! e", "c b d"),
        ("c = a; b = c;; d = e;", "c b d"),
        ("O = A(i) where i in 0:N  P(j) = B(j)", "O P"),
        ("O = A(i) where i in 0:N  P = B(j)", "O P"),
        ("O = A(i) where k = 3 P = B(j)", "O P"),
        ("O = A(i) where k < 3 P(i) min= B(j)", "O P"),
        ("O = a ? b : c P = 3 Q = 4.", "O P Q"),
    ],
)
def test_a_statement_ends_where_the_next_begins(text: str, targets: str) -> None:
    assert [statement.target for statement in statements(text) if isinstance(statement, ast.Assign)] == targets.split()


def test_a_declaration_ends_the_statement_before_it() -> None:
    assert statements("O = a float(K) z P = float(b)") == (
        ast.Assign("O", None, None, False, ast.Name("a")),
        ast.Declare("z", ast.TensorType("float32", ("K",))),
        ast.Assign("P", None, None, False, ast.Cast("float32", ast.Name("b"))),
    )


def test_what_a_clause_is_shows_behind_its_first_word() -> None:
    where = assign("O(i) = A(i) where i in 0:N-1, k = i + 3, exists B(i), k <= q, flag, a == b, m(i)").where

    i, k = ast.Name("i"), ast.Name("k")
    assert where == (
        ast.RangeClause("i", ast.Number(0), ast.Binary("-", ast.Name("N"), ast.Number(1))),
        ast.LetClause("k", ast.Binary("+", i, ast.Number(3))),
        ast.ExistsClause(ast.Apply("B", (i,))),
        ast.GuardClause(ast.Binary("<=", k, ast.Name("q"))),
        ast.GuardClause(ast.Name("flag")),
        ast.GuardClause(ast.Binary("==", ast.Name("a"), ast.Name("b"))),
        ast.GuardClause(ast.Apply("m", (i,))),
    )


@pytest.mark.parametrize("text", ["0:2", "0..2", "0 .. 2", "0  :2"])
def test_a_range_is_written_with_a_colon_or_two_points(text: str) -> None:
    assert assign(f"O = A(i) where i in {text}").where == (ast.RangeClause("i", ast.Number(0), ast.Number(2)),)


def test_a_choice_may_stand_in_a_range() -> None:
    choice = ast.Conditional(ast.Name("c"), ast.Name("a"), ast.Name("b"))

    assert assign("O = A(i) where i in c ? a : b : c ? a : b").where == (ast.RangeClause("i", choice, choice),)


# ---------------------------------------------------------------- expressions


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("-3%2+4*5+7-a", "(((((-3)%2)+(4*5))+7)-a)"),
        ("a==1==(b==2)", "((a==1)==(b==2))"),
        ("!a < b", "((!a)<b)"),
        ("--x", "(-(-x))"),
        ("- -x", "(-(-x))"),
        ("a - -b", "(a-(-b))"),
        ("~!-x", "(~(!(-x)))"),
        ("a - b - c", "((a-b)-c)"),
        ("a / b * c % d", "(((a/b)*c)%d)"),
        ("a // b", "(a//b)"),
        ("a ? b : c ? d : e", "(a?b:(c?d:e))"),
        ("a ? b ? c : d : e", "(a?(b?c:d):e)"),
        ("(a ? b : c) ? d : e", "((a?b:c)?d:e)"),
        ("a || b && c | d ^ e & f == g << h + i * -j", "(a||(b&&(c|(d^(e&(f==(g<<(h+(i*(-j))))))))))"),
        (
            "a * b + c >> d != e & f ^ g | h && i || j",
            "(((((((((a*b)+c)>>d)!=e)&f)^g)|h)&&i)||j)",
        ),
        ("a and b or not c", "((a&&b)||(!c))"),
        ("a =< b", "(a<=b)"),
        ("a < b", "(a<b)"),
    ],
)
def test_operators_bind_as_in_c(text: str, expected: str) -> None:
    assert grouped(expression(text)) == expected


LOOSEST_FIRST = (
    ["||"],
    ["&&"],
    ["|"],
    ["^"],
    ["&"],
    ["<", ">=", "==", "!="],
    ["<<", ">>"],
    ["+", "-"],
    ["*", "/", "%"],
)


def by_splitting(operands: list[str], operators: list[str]) -> str:
    """The grouping of a chain: it splits at the last of its operators with the lowest precedence."""
    for level in LOOSEST_FIRST:
        for position in reversed(range(len(operators))):
            if operators[position] in level:
                left = by_splitting(operands[: position + 1], operators[:position])
                right = by_splitting(operands[position + 1 :], operators[position + 1 :])
                return f"({left}{operators[position]}{right})"
    return operands[0]


@given(st.lists(st.sampled_from([operator for level in LOOSEST_FIRST for operator in level]), max_size=9))
def test_every_chain_falls_apart_at_its_loosest_operator(operators: list[str]) -> None:
    operands = [f"x{position}" for position in range(len(operators) + 1)]
    text = operands[0] + "".join(
        f" {operator} {operand}" for operator, operand in zip(operators, operands[1:], strict=True)
    )

    assert grouped(expression(text)) == by_splitting(operands, operators)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        *[("3", 3), ("007", 7), ("0x1F", 31), ("18446744073709551615", 2**64 - 1)],
        *[("3.", 3.0), (".5", 0.5), ("1.4", 1.4), ("3e-3", 3e-3), (".5e-7", 0.5e-7), ("3E-5", 3e-5), ("1E3", 1000.0)],
        *[("2i", 2j), ("1.5i", 1.5j), ("1e3i", 1000j)],
    ],
)
def test_a_number_is_read_with_its_type(text: str, value: complex) -> None:
    number = expression(text)

    assert isinstance(number, ast.Number)
    assert (type(number.value), number.value) == (type(value), value)


@pytest.mark.parametrize(("text", "dimension"), [("A.0", 0), ("A.1", 1), ("x.12", 12)])
def test_a_size_is_a_name_a_point_and_a_dimension(text: str, dimension: int) -> None:
    assert expression(text) == ast.SizeOf(text[0], dimension)
    assert expression(f"{text}+.5") == ast.Binary("+", ast.SizeOf(text[0], dimension), ast.Number(0.5))


@pytest.mark.parametrize("name", BUILTINS.split())
def test_a_builtin_is_applied_like_a_tensor(name: str) -> None:
    assert expression(f"{name}(a, b(i))") == ast.Apply(name, (ast.Name("a"), ast.Apply("b", (ast.Name("i"),))))


def test_there_are_64_builtins() -> None:
    assert len(set(BUILTINS.split())) == 64


@pytest.mark.parametrize("name", ["min", "max"])
def test_min_and_max_of_two_values_are_applied(name: str) -> None:
    assert expression(f"{name}(a, b)") == ast.Apply(name, (ast.Name("a"), ast.Name("b")))


@pytest.mark.parametrize("name", ["sum", "prod", "min", "max", "any", "mean", "argmax", "gcd"])
def test_any_name_before_brackets_reduces(name: str) -> None:
    assert expression(f"{name}[k](A(k))") == ast.Reduction(
        name, (ast.Bound("k"),), (), (ast.Apply("A", (ast.Name("k"),)),)
    )


def test_in_binds_only_the_name_before_it() -> None:
    reduction = expression("sum[k, l in 0:3, m in 1..N where k <= q, l](e)")

    assert reduction == ast.Reduction(
        "sum",
        (ast.Bound("k"), ast.Bound("l", ast.Number(0), ast.Number(3)), ast.Bound("m", ast.Number(1), ast.Name("N"))),
        (ast.Binary("<=", ast.Name("k"), ast.Name("q")), ast.Name("l")),
        (ast.Name("e"),),
    )


def test_a_reduction_may_have_a_rank() -> None:
    reduction = expression("mink[j](e, r)")

    assert reduction == ast.Reduction("mink", (ast.Bound("j"),), (), (ast.Name("e"), ast.Name("r")))


def test_an_empty_call_has_no_arguments() -> None:
    assert expression("a()") == ast.Apply("a", ())


@pytest.mark.parametrize("text", ["", " \n\t ", "# only a comment", ";"])
def test_a_text_without_a_definition_is_an_error(text: str) -> None:
    with pytest.raises(CompileError) as raised:
        tc.read(text)

    assert raised.value.code == ("TC0101" if text == ";" else "TC0104")
