"""Runs `rushes demo` and records the terminal as assets/demo.svg, for the top of the README.

python -m docs.record_demo

The picture must look the same everywhere and ask nobody: no font is fetched for it.
"""

from __future__ import annotations

import io
import os
import re
import subprocess
import sys
from pathlib import Path

from rich._export_format import CONSOLE_SVG_FORMAT
from rich.console import Console
from rich.text import Text

PICTURE = Path(__file__).parent / "assets" / "demo.svg"
COLUMNS = 100
FONTS = "ui-monospace, 'Cascadia Mono', 'DejaVu Sans Mono', Menlo, Consolas, monospace"
FORMAT = re.sub(r"@font-face \{\{.*?\}\}\s*", "", CONSOLE_SVG_FORMAT, flags=re.DOTALL).replace(
    "Fira Code, monospace", FONTS
)
COLOURS = {
    r"^✔": "bold green",
    r"^✘": "bold red",
    r"^▶.*": "bold cyan",
    r"^\$ .*": "bold",
    r"^  (quality|from|kind) .*": "dim",
}


def run() -> int:
    """Record one run. A run that fails is not recorded."""
    done = subprocess.run(
        [sys.executable, "-m", "rushes.cli.main", "demo"],
        env={**os.environ, "PATH": ""},  # as on a machine that has nothing but Python
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    print(done.stdout)
    if done.returncode == 0:
        PICTURE.parent.mkdir(exist_ok=True)
        PICTURE.write_text(picture(f"$ rushes demo\n{done.stdout}"))
    return done.returncode


def picture(output: str) -> str:
    """Return a terminal with this output, in the colours that a terminal would have."""
    console = Console(record=True, width=COLUMNS, file=io.StringIO())
    for line in output.splitlines():
        text = Text(line)
        for pattern, style in COLOURS.items():
            text.highlight_regex(pattern, style)
        console.print(text)
    return console.export_svg(title="rushes demo", code_format=FORMAT, unique_id="demo")


if __name__ == "__main__":
    sys.exit(run())
