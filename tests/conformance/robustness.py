"""Extreme texts, each of about 100 kB or less."""

import random

ALPHABET = "abif(){}=+-*/<>!&|?:,. \n0123456789_#[]def->+=!wherein"


def filled(value: str) -> str:
    return f"def f(float(N) A) -> (B) {{ B(i) = {value} }}"


def noise(seed: int, length: int = 100_000) -> str:
    source = random.Random(seed)
    return "".join(source.choice(ALPHABET) for _ in range(length))


def clauses(text: str) -> str:
    return f"def f(float(N) A) -> (B) {{ B(i) = A(i) where {text} }}"


def listed(pattern: str, count: int, separator: str = ", ") -> str:
    """The pattern with each number from 0 on."""
    return separator.join(pattern.format(k) for k in range(count))


TEXTS = {
    "nothing": "",
    "a zero byte": "\0",
    "every byte": bytes(range(256)).decode("latin1") * 100,
    "Greek and Cyrillic": "".join(map(chr, range(0x370, 0x500))) * 50,
    "emoji": "(\U0001f600" * 1000,
    "half of a pair": "(\ud800",
    "a byte order mark": "\ufeff" + filled("A(i)"),
    "a space of no width": filled("A(i)\u200b"),
    "a space of full width": filled("A(i)\u3000+ 1"),
    "digits of full width": filled("A(i) + \uff11"),
    "Arabic digits": filled("A(i) + \u0663"),
    "text from right to left": filled("\u202eA(i)"),
    "nested brackets": filled("(" * 20_000 + "A(i)" + ")" * 20_000),
    "open brackets": filled("(" * 100_000),
    "closed brackets": filled(")" * 100_000),
    "minus signs": filled("-" * 100_000 + "A(i)"),
    "negations": filled("!" * 100_000 + "A(i)"),
    "a long sum": filled("+".join(["A(i)"] * 20_000)),
    "a long choice": filled("A(i) > 0 ? 1 : " * 6000 + "0"),
    "nested reads": f"def f(int32(N) A) -> (B) {{ B(i) = {'A(' * 10_000}i{')' * 10_000} }}",
    "nested calls": filled("exp(" * 10_000 + "A(i)" + ")" * 10_000),
    "nested reductions": filled("sum[k](" * 5000 + "A(k)" + ")" * 5000),
    "a long name": filled("A" * 100_000),
    "a long number": filled("1" * 100_000),
    "a long fraction": filled("." + "1" * 100_000),
    "many names in a subscript": filled(f"A({listed('i{}', 3000, '+')})"),
    "many floors in a subscript": filled("A(" + "(" * 300 + "i" + ")/2" * 300 + ")"),
    "many least numbers in a subscript": filled("A(" + "min(i," * 300 + "i" + ")" * 300 + ")"),
    "many definitions": listed("def f{}(float(N) A) -> (B) {{ B(i) = A(i) }}", 1000, "\n"),
    "many statements": f"def f(float(N) A) -> (B) {{ B(i) = A(i) {'B(i) = B(i) + 1 ' * 3000} }}",
    "many parameters": f"def f({listed('float(N{}) A{}'.replace('{}', '{0}'), 3000)}) -> (B) {{ B(i) = A0(i) }}",
    "many ranges": clauses(listed("i in {}:N", 5000)),
    "many lets": clauses(listed("x{} = A(i)", 3000)),
    "lets of lets": clauses("x0 = 1, " + ", ".join(f"x{k + 1} = x{k} + x{k}" for k in range(2000))),
    "many guards": clauses(listed("i != {}", 3000)),
    "many alternatives": clauses(listed("i == {}", 3000, " || ")),
    "many conditions to exist": clauses(listed("exists A(i+{})", 3000)),
    "many dimensions": f"def f(float({listed('N{}', 300)}) A) -> (B) {{ B +=! A({listed('i{}', 300)}) }}",
    "a comment": "#" * 100_000 + "\n" + filled("A(i)"),
    "comments": "#\n" * 50_000 + filled("A(i)"),
    "spaces": " " * 100_000 + filled("A(i)"),
    "lines": "\n" * 100_000 + filled("A(i)"),
    "commas": "(" + "," * 100_000,
    "keywords": "(" + "def " * 20_000,
    "braces": "{" * 100_000,
    "questions": "(" + "?" * 100_000,
    **{f"noise {seed}": noise(seed) for seed in range(3)},
}
