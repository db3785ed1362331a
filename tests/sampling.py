"""Which cases a test run takes: of those that compile a lot, a different part with every commit.

A case belongs to one of `SAMPLED[file]` parts by its name; the seed says which part runs, and grows by one with each
commit. So every case runs on each Python once per cycle of as many commits as there are parts. The later Python of a
run is half a cycle ahead of the oldest: together they need half a cycle. Random examples follow the seed too:
`TCJAX_SAMPLE=<seed>` repeats exactly what ran.
"""

import subprocess
import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from zlib import crc32

VARIABLE = "TCJAX_SAMPLE"
# Number of commits after which every case has run: on each Python, or, if there are more parts, on one of two.
COMMITS = 15
MOST_PARTS = 2 * COMMITS
OLDEST_PYTHON = 11

# Files and folders of tests that compile a lot or read long texts, and the number of parts of each. `make deep` runs
# all.
SAMPLED = {
    "tests/agreement/test_any_price.py": 5,
    "tests/agreement/test_dead_branches.py": 2,
    "tests/agreement/test_double.py": 2,
    "tests/agreement/test_dropped_facts.py": 7,
    "tests/agreement/test_left_sides.py": 30,
    "tests/agreement/test_nest_kinks.py": 30,
    "tests/agreement/test_nests.py": 7,
    "tests/agreement/test_odd_data.py": 9,
    "tests/agreement/test_products.py": 14,
    "tests/agreement/test_ragged.py": 24,
    "tests/agreement/test_random_programs.py": 2,
    "tests/agreement/test_regressions.py": 7,
    "tests/agreement/test_unique.py": 13,
    "tests/agreement/test_weak_types.py": 5,
    "tests/architecture/test_handlers.py": 2,
    "tests/architecture/test_wheel.py": 8,
    "tests/bench/test_cases.py": 30,
    "tests/bench/test_estimates.py": 6,
    "tests/bench/test_memory.py": 30,
    "tests/bench/test_pictures.py": 3,
    "tests/bench/test_rewrites.py": 30,
    "tests/cli/test_fmt.py": 2,
    "tests/cli/test_lsp.py": 3,
    "tests/cli/test_misuse.py": 3,
    "tests/cli/test_odd_files.py": 3,
    "tests/conformance/sac/test_language.py": 11,
    "tests/conformance/sac/test_practice.py": 6,
    "tests/conformance/sac/test_rejected.py": 6,
    "tests/conformance/sac/test_semantics.py": 16,
    "tests/conformance/test_inference.py": 3,
    "tests/conformance/test_language.py": 7,
    "tests/conformance/test_layers.py": 4,
    "tests/conformance/test_robustness.py": 9,
    "tests/docs/test_explanations.py": 2,
    "tests/docs/test_pages.py": 30,
    "tests/docs/test_site.py": 12,
    "tests/elaboration/test_collisions.py": 19,
    "tests/elaboration/test_depth.py": 2,
    "tests/examples": 9,
    "tests/gallery": 18,
    "tests/golden/test_golden.py": 2,
    "tests/layers/test_adapters.py": 2,
    "tests/linen/test_linen.py": 12,
    "tests/lowering/pallas": 12,
    "tests/lowering/test_bands.py": 15,
    "tests/lowering/test_blocks.py": 2,
    "tests/lowering/test_boundaries.py": 16,
    "tests/lowering/test_branches.py": 9,
    "tests/lowering/test_builtins.py": 9,
    "tests/lowering/test_chunked_scatter.py": 10,
    "tests/lowering/test_convolutions.py": 4,
    "tests/lowering/test_cut_stores.py": 3,
    "tests/lowering/test_deviations.py": 5,
    "tests/lowering/test_diagonals.py": 6,
    "tests/lowering/test_extrema.py": 30,
    "tests/lowering/test_finite.py": 18,
    "tests/lowering/test_guarded_softmax.py": 12,
    "tests/lowering/test_joined_axes.py": 3,
    "tests/lowering/test_joined_stores.py": 4,
    "tests/lowering/test_kernel_sums.py": 15,
    "tests/lowering/test_memory_contract.py": 30,
    "tests/lowering/test_monoids.py": 9,
    "tests/lowering/test_parts.py": 19,
    "tests/lowering/test_places.py": 3,
    "tests/lowering/test_plain_indices.py": 6,
    "tests/lowering/test_powers_of_numbers.py": 5,
    "tests/lowering/test_powers_of_steps.py": 3,
    "tests/lowering/test_products.py": 7,
    "tests/lowering/test_provisos.py": 21,
    "tests/lowering/test_random_tiles.py": 2,
    "tests/lowering/test_ranks.py": 4,
    "tests/lowering/test_received.py": 3,
    "tests/lowering/test_scans.py": 29,
    "tests/lowering/test_scatters.py": 30,
    "tests/lowering/test_selections.py": 7,
    "tests/lowering/test_shares.py": 5,
    "tests/lowering/test_shifted_sums.py": 11,
    "tests/lowering/test_softmax.py": 15,
    "tests/lowering/test_steps_again.py": 5,
    "tests/lowering/test_tiles.py": 6,
    "tests/lowering/test_two_stage.py": 16,
    "tests/lowering/test_unrolled_sums.py": 7,
    "tests/lowering/test_vector_accumulators.py": 30,
    "tests/lowering/test_window_derivatives.py": 6,
    "tests/nn/test_comprehension.py": 3,
    "tests/nn/test_layers.py": 18,
    "tests/planning/schedule/test_conformance.py": 3,
    "tests/planning/schedule/test_programs.py": 2,
    "tests/planning/schedule/test_random.py": 2,
    "tests/planning/test_assembly.py": 2,
    "tests/planning/test_deviations.py": 2,
    "tests/planning/test_differences.py": 2,
    "tests/planning/test_domains.py": 3,
    "tests/planning/test_expanding.py": 5,
    "tests/planning/test_growth.py": 2,
    "tests/planning/test_laws.py": 2,
    "tests/planning/test_loop_schedules.py": 2,
    "tests/planning/test_online.py": 3,
    "tests/planning/test_operations.py": 7,
    "tests/planning/test_orders.py": 5,
    "tests/planning/test_parts.py": 3,
    "tests/planning/test_prices.py": 20,
    "tests/planning/test_renaming.py": 6,
    "tests/planning/test_searching.py": 3,
    "tests/planning/test_slants.py": 4,
    "tests/planning/test_subscripts.py": 7,
    "tests/planning/test_temporaries.py": 13,
    "tests/ranges/test_limits.py": 4,
    "tests/ranges/test_own_reads.py": 3,
    "tests/recurrences/test_adjoints.py": 30,
    "tests/recurrences/test_at_once.py": 30,
    "tests/recurrences/test_meaning.py": 17,
    "tests/recurrences/test_plans.py": 5,
    "tests/recurrences/test_random_loops.py": 17,
    "tests/recurrences/test_wavefronts.py": 9,
    "tests/runtime/test_adjoint.py": 21,
    "tests/runtime/test_adjoint_programs.py": 13,
    "tests/runtime/test_batches.py": 4,
    "tests/runtime/test_check.py": 5,
    "tests/runtime/test_check_everywhere.py": 30,
    "tests/runtime/test_checked.py": 5,
    "tests/runtime/test_costs_compiled.py": 12,
    "tests/runtime/test_damaged_choices.py": 2,
    "tests/runtime/test_einsum.py": 7,
    "tests/runtime/test_explain.py": 8,
    "tests/runtime/test_export.py": 7,
    "tests/runtime/test_faults.py": 3,
    "tests/runtime/test_forked.py": 3,
    "tests/runtime/test_kernel.py": 2,
    "tests/runtime/test_life.py": 6,
    "tests/runtime/test_memory_limit.py": 10,
    "tests/runtime/test_monoid.py": 30,
    "tests/runtime/test_nest_transformations.py": 30,
    "tests/runtime/test_nests_on_devices.py": 24,
    "tests/runtime/test_processes.py": 6,
    "tests/runtime/test_recent.py": 14,
    "tests/runtime/test_sharding.py": 30,
    "tests/runtime/test_soak.py": 5,
    "tests/runtime/test_softmax_transformations.py": 30,
    "tests/runtime/test_tuning.py": 3,
    "tests/runtime/test_tuning_store.py": 3,
    "tests/sac/test_agreement.py": 4,
    "tests/sac/test_cells.py": 15,
    "tests/sac/test_robustness.py": 9,
    "tests/sac/test_strict.py": 2,
    "tests/sac/test_transformations.py": 9,
    "tests/sac/test_types.py": 25,
    "tests/site": 5,
    "tests/symbolic/facts/test_budgets.py": 13,
    "tests/symbolic/facts/test_conditions_as_operands.py": 6,
    "tests/symbolic/facts/test_conformance.py": 3,
    "tests/symbolic/facts/test_second_opinion.py": 24,
    "tests/syntax/embedded/test_writer.py": 2,
    "tests/syntax/sac/test_any_text.py": 16,
    "tests/syntax/tc/test_limits.py": 14,
    "tests/testing/test_assertions.py": 3,
    "tests/testing/test_strategies.py": 2,
    "tests/transforms/derivatives": 6,
    "tests/transforms/test_canonical.py": 2,
    "tests/transforms/test_choices.py": 4,
    "tests/transforms/test_common.py": 6,
    "tests/transforms/test_equations.py": 3,
    "tests/transforms/test_growing.py": 2,
    "tests/transforms/test_separable.py": 12,
    "tests/transforms/test_shifts.py": 7,
    "tests/transforms/test_softmaxes.py": 5,
    "tests/transforms/test_splits.py": 4,
    "tests/transforms/test_terms.py": 5,
    "tests/translated/test_kernels.py": 30,
    "tests/translated/test_loop_programs.py": 30,
    "tests/translated/test_order.py": 6,
    "tests/translated/test_programs.py": 30,
    "tests/translation": 6,
}


class BadSample(ValueError):
    """A value of `TCJAX_SAMPLE` that is neither a number nor ``all``."""


@dataclass(frozen=True)
class Sample:
    """The part of the cases that belongs to a seed and a minor version of Python; with `whole`, all of them."""

    seed: int
    source: str
    python: int
    whole: bool = False

    def takes(self, case: str) -> bool:
        """Whether the case with this node id runs."""
        parts = parts_of(case)
        ahead = parts // 2 if self.python > OLDEST_PYTHON else 0
        return self.whole or crc32(case.encode()) % parts == (self.seed + ahead) % parts

    def examples_of(self, test: str) -> int:
        """The seed of a property's random examples: different for each test, commit and Python."""
        return crc32(f"{self.seed} {self.python} {test}".encode())

    def __str__(self) -> str:
        return f"{'every case' if self.whole else 'sample'}, seed {self.seed} ({self.source})"


def parts_of(case: str) -> int:
    """The number of parts of a test's file."""
    return _parts_of(case.partition("::")[0])


@cache
def _parts_of(path: str) -> int:
    return next((parts for start, parts in SAMPLED.items() if path.startswith(start)), 1)


def choose(environment: Mapping[str, str], root: Path, python: int) -> Sample:
    """The sample given by the environment, or by the commit."""
    match environment.get(VARIABLE, ""):
        case "":
            return Sample(*_current(root), python)
        case "all":
            return Sample(*_current(root), python, whole=True)
        case value if value.isdecimal() and value.isascii():
            return Sample(int(value), VARIABLE, python)
        case value:
            raise BadSample(f"{VARIABLE}={value}: write a seed, as {VARIABLE}=83, or {VARIABLE}=all for every case")


def _current(root: Path) -> tuple[int, str]:
    """A number that grows by one with each commit, or, without a history, each day."""

    def git(*arguments: str) -> str:
        command = ["git", "-C", str(root), *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout.strip()

    try:
        # A shallow clone would always count the same number. A merge counts once.
        if git("rev-parse", "--is-shallow-repository") == "false":
            return int(git("rev-list", "--count", "--first-parent", "HEAD")), "commits"
    except (OSError, ValueError, subprocess.SubprocessError):
        pass
    return int(time.time() // 86_400), "days; no history of commits here"
