"""The notebook of examples/ runs from top to bottom."""

import json
from pathlib import Path

from IPython.utils.capture import capture_output

from tests.notebook.shells import fresh_shell

TOUR = Path(__file__).parents[2] / "examples" / "notebooks" / "tour.ipynb"


def test_every_cell_of_the_tour_runs_and_shows_what_its_text_promises() -> None:
    cells = json.loads(TOUR.read_text())["cells"]
    shown: list[str] = []

    with fresh_shell() as shell:
        for cell in cells:
            if cell["cell_type"] == "code":
                with capture_output() as captured:
                    done = shell.run_cell("".join(cell["source"]))
                fails = "raises-exception" in cell["metadata"].get("tags", ())
                assert done.success != fails, "".join(cell["source"])
                html = [output.data.get("text/html", "") for output in captured.outputs]
                if hasattr(done.result, "_repr_html_"):
                    html.append(done.result._repr_html_())
                shown.append(captured.stdout + "".join(html))

    assert sum("<math" in page for page in shown) >= 2
    assert sum("<svg" in page for page in shown) >= 3
    assert "[0.  2.5 3.  3.5 4. ]" in "".join(shown)
    assert "TC0703" in "".join(shown) and "y[3] = " in "".join(shown)
    assert r"\begin{aligned}" in shown[-1]


def test_the_tour_is_stored_without_outputs() -> None:
    cells = json.loads(TOUR.read_text())["cells"]

    assert all(not cell["outputs"] and cell["execution_count"] is None for cell in cells if cell["cell_type"] == "code")
