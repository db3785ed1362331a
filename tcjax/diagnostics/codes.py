"""Every mistake a writer can make, and every warning, by number. `explanations/<code>.md` explains each one."""

from enum import Enum
from typing import Literal

Kind = Literal[
    "syntax",
    "name",
    "type",
    "rank",
    "bound",
    "shape",
    "homogeneity",
    "generator",
    "index",
    "schedule",
    "static",
]

_KINDS: dict[str, Kind] = {
    "01": "syntax",
    "02": "name",
    "03": "type",
    "04": "bound",
    "05": "rank",
    "06": "shape",
    "07": "index",
    "08": "schedule",
    "09": "static",
    "10": "homogeneity",
    "11": "generator",
}

# A warning has the kind of the mistake that it most likely is.
_WARNING_KINDS: dict[str, Kind] = {
    "TC1201": "index",
    "TC1202": "index",
    "TC1203": "name",
    "TC1204": "name",
    "TC1205": "name",
    "TC1206": "index",
    "TC1207": "name",
    "TC1208": "name",
    "TC1209": "index",
    "TC1210": "type",
    "TC1211": "bound",
    "TC1212": "type",
    "TC1213": "type",
    "TC1214": "name",
    "TC1215": "type",
    "TC1216": "schedule",
    "TC1217": "name",
    "TC1218": "name",
    "TC1219": "bound",
}


class Code(Enum):
    """The number of a mistake; its two middle digits give the kind of an error."""

    UNEXPECTED_TOKEN = "TC0101"
    UNEXPECTED_CHARACTER = "TC0102"
    TOO_DEEP = "TC0103"
    NO_DEFINITION = "TC0104"
    NOT_IN_THE_NOTATION = "TC0105"
    NO_PYTHON_SOURCE = "TC0106"
    BAD_NUMBER = "TC0107"
    BAD_PATTERN = "TC0108"
    NOT_TRANSLATABLE = "TC0109"
    OTHER_INDEX = "TC0110"
    UNDEFINED_NAME = "TC0201"
    ALREADY_DEFINED = "TC0202"
    RESERVED_NAME = "TC0203"
    IMMUTABLE_INPUT = "TC0204"
    UNKNOWN_FUNCTION = "TC0205"
    OUTPUT_NEVER_DEFINED = "TC0206"
    RECURSIVE_CALL = "TC0207"
    READ_BEFORE_DEFINITION = "TC0208"
    UNKNOWN_DEFINITION = "TC0209"
    WRONG_TYPE = "TC0301"
    NOT_BOOLEAN = "TC0302"
    NOT_INTEGRAL = "TC0303"
    NARROWING = "TC0304"
    ARGUMENT_TYPE = "TC0305"
    NOT_ORDERED = "TC0306"
    WRONG_KIND_OF_NAME = "TC0307"
    BAD_OPTION = "TC0308"
    NO_DERIVATIVE = "TC0309"
    BAD_MONOID = "TC0310"
    UNBOUND_INDEX = "TC0401"
    ONLY_IN_CLAUSES = "TC0402"
    UNSOLVABLE_INDEX = "TC0403"
    UNBOUND_SIZE = "TC0404"
    READ_IN_BOUND = "TC0405"
    NO_UPPER_BOUND = "TC0406"
    UNSOLVABLE_PATTERN = "TC0407"
    WRONG_SUBSCRIPT_COUNT = "TC0501"
    ARGUMENT_RANK = "TC0502"
    WRONG_ARGUMENT_COUNT = "TC0503"
    WHOLE_TENSOR_AS_SCALAR = "TC0504"
    UNKNOWN_RANK = "TC0505"
    BOUND_LENGTH = "TC0506"
    INDEX_TOO_LONG = "TC0507"
    TOO_MANY_DOTS = "TC0508"
    NOT_A_SCALAR = "TC0509"
    NEEDS_AXES = "TC0510"
    SIZE_MISMATCH = "TC0601"
    NEGATIVE_EXTENT = "TC0602"
    OUTPUT_SIZE = "TC0603"
    TOO_LARGE = "TC0604"
    UNEQUAL_SHAPES = "TC0605"
    VIOLATED_PATTERN = "TC0606"
    VIOLATED_ASSUMPTION = "TC0607"
    OUT_OF_RANGE_READ = "TC0701"
    OUT_OF_RANGE_WRITE = "TC0702"
    MISSING_REDUCTION = "TC0703"
    AMBIGUOUS_TARGET = "TC0704"
    DIVISION_BY_ZERO = "TC0705"
    OUT_OF_RANGE_SELECTION = "TC0706"
    NO_SUCH_ELEMENT = "TC0707"
    READ_WHILE_WRITTEN = "TC0708"
    BAD_SCHEDULE = "TC0801"
    UNKNOWN_STAGE = "TC0802"
    UNKNOWN_LOOP = "TC0803"
    LOOP_NAME_TAKEN = "TC0804"
    LOOP_IN_USE = "TC0805"
    NOT_ADJACENT = "TC0806"
    CONSUMER_OUTSIDE = "TC0807"
    BAD_FACTOR = "TC0808"
    NOT_MOVABLE = "TC0809"
    MEMORY_LIMIT = "TC0810"
    NOT_SHARDABLE = "TC0811"
    NOT_STATIC = "TC0901"
    VALUE_DECIDES_SHAPE = "TC0902"
    UNEQUAL_CELLS = "TC1001"
    SHAPE_NEEDS_INDEX = "TC1002"
    OUTSIDE_RESULT = "TC1101"
    BAD_STEP = "TC1102"
    # Warnings: legal, but probably not what was meant. ``strict=True`` makes errors of them.
    UNINITIALISED_REDUCTION = "TC1201"
    UNEVEN_SUM = "TC1202"
    UNUSED_PARAMETER = "TC1203"
    UNUSED_TEMPORARY = "TC1204"
    UNUSED_LET = "TC1205"
    UNUSED_RANGE = "TC1206"
    NO_OUTPUTS = "TC1207"
    UNUSED_DEFINITION = "TC1208"
    INDEPENDENT_SUMS = "TC1209"
    INTEGER_DIVISION = "TC1210"
    UNREAD_ELEMENTS = "TC1211"
    CHAINED_COMPARISON = "TC1212"
    NARROWED_TYPE = "TC1213"
    DEFINED_TWICE = "TC1214"
    SUM_OF_BOOL = "TC1215"
    TUNING_FILE = "TC1216"
    NUMBER_FROM_OUTSIDE = "TC1217"
    FUNCTION_AS_INPUT = "TC1218"
    IDLE_PAD = "TC1219"

    @property
    def kind(self) -> Kind:
        return _WARNING_KINDS.get(self.value) or _KINDS[self.value[2:4]]
