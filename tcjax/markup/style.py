"""Colours and the style sheet of notebook output: light and dark, for desktops and phones."""

from typing import Final

# Okabe and Ito's colours, which colour-blind readers can tell apart.
LIGHT: Final = {
    "ground": "#ffffff",
    "panel": "#f4f6f8",
    "ink": "#1b1f24",
    "faint": "#59636e",
    "line": "#c8d0d8",
    "c0": "#0072b2",
    "c1": "#d55e00",
    "c2": "#009e73",
    "c3": "#b0578d",
    "c4": "#b27b00",
}
DARK: Final = {
    "ground": "#14181d",
    "panel": "#20262d",
    "ink": "#e6edf3",
    "faint": "#a3aeb9",
    "line": "#46505a",
    "c0": "#56b4e9",
    "c1": "#f0803c",
    "c2": "#2cc497",
    "c3": "#dd94bd",
    "c4": "#e6b422",
}
COLOURS: Final = 5

# Notebooks and sites that choose their own theme, whatever the system prefers.
_CHOSEN_DARK: Final = (
    '[data-jp-theme-light="false"]',
    ".vscode-dark",
    '[data-md-color-scheme="slate"]',
    "[theme=dark]",
)
_CHOSEN_LIGHT: Final = ('[data-jp-theme-light="true"]', ".vscode-light", '[data-md-color-scheme="default"]')

# Notebooks and sites have their own rules for tables and code, prefixed by class names: the more specific rule wins.
# (Not with `:is` or nested rules, which some programs that draw SVG files do not support.)
_OURS: Final = ".tcjax.tcjax.tcjax"

_RULES: Final = """
.tcjax{color:var(--ink);background:var(--ground);color-scheme:light dark}
div.tcjax{font:14px/1.5 system-ui,sans-serif;padding:.5em .9em;border-radius:6px;max-width:64em;overflow-wrap:anywhere}
& *{box-sizing:border-box}
& p{margin:.35em 0}
& .title{font-weight:600;margin:.3em 0 .5em}
& .part{border-top:1px solid var(--line);margin-top:.7em;padding-top:.5em}
& .faint{color:var(--faint)}
& code,& pre{font:12.5px/1.5 ui-monospace,Menlo,Consolas,monospace;color:var(--ink);background:none;border:0;padding:0}
& code{white-space:inherit}
& pre{margin:.3em 0;padding:.5em .7em;background:var(--panel);border-radius:4px;overflow-x:auto;white-space:pre}
& math{font-size:1.15em;color:var(--ink)}
& .formula{overflow-x:auto;padding:.35em 0;text-align:left}
& .formula math{text-align:left}
& .scroll{overflow-x:auto;margin:.4em 0}
& table{table-layout:auto;border-collapse:collapse;margin:0;font-size:13px;color:var(--ink);background:none}
& th,& td{padding:.2em .8em .2em 0;text-align:left;vertical-align:top;border:0;background:none}
& th,& td{white-space:nowrap;max-width:none}
& thead,& tbody tr,& tbody tr:hover{background:none}
& th{color:var(--faint);font-weight:500;border-bottom:1px solid var(--line)}
& td.number,& th.number{text-align:right;font-variant-numeric:tabular-nums}
& td.wide{white-space:normal;min-width:12em}
& td.meter{min-width:4em;width:12em;vertical-align:middle}
@media (max-width:30em){& td.meter{width:5em}}
& .bar{height:.7em;background:var(--panel);border-radius:2px}
& .bar div{height:100%;min-width:1px;background:var(--c0);border-radius:2px}
& summary{cursor:pointer;color:var(--faint);white-space:pre-wrap}
& .pictures{display:flex;flex-wrap:wrap;gap:1em;align-items:flex-start}
& figure{margin:.4em 0;max-width:100%}
& figcaption{font-size:13px;color:var(--faint);margin-bottom:.2em}
div& svg,svg.tcjax{max-width:100%;height:auto;display:block}
& text{font:12px system-ui,sans-serif;fill:var(--ink)}
& text.faint{fill:var(--faint)}
& .frame{fill:var(--panel);stroke:var(--line)}
& .roof{stroke:var(--ink);fill:none}
"""


def _variables(palette: dict[str, str]) -> str:
    return "".join(f"--{name}:{value};" for name, value in palette.items())


def _scheme(hosts: tuple[str, ...], palette: dict[str, str]) -> str:
    return f"{','.join(f'{host} .tcjax' for host in hosts)}{{{_variables(palette)}}}"


STYLE: Final = "".join(
    (
        f".tcjax{{{_variables(LIGHT)}}}",
        f"@media (prefers-color-scheme:dark){{.tcjax{{{_variables(DARK)}}}}}",
        _scheme(_CHOSEN_DARK, DARK),
        _scheme(_CHOSEN_LIGHT, LIGHT),
        _RULES.replace("\n", "").replace("&", _OURS),
        "".join(
            f".tcjax .c{n}{{fill:var(--c{n})}}.tcjax .s{n}{{stroke:var(--c{n});fill:none}}" for n in range(COLOURS)
        ),
    )
)
