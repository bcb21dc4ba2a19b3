"""The tutorial does what it says."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from tests.cli.conftest import ROOT, Cli

PAGE = (ROOT / "docs/tutorial/first-job.md").read_text()


def test_first_job_of_the_tutorial_runs_as_written(cli: Cli, tmp_path: Path, monkeypatch):
    [program] = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    commands = re.findall(r"^\$ rushes (.*)$", PAGE, re.MULTILINE)
    (tmp_path / "hello.py").write_text(program)
    monkeypatch.delenv("RUSHES_DATABASE_URL")

    done = subprocess.run([sys.executable, "hello.py"], capture_output=True, text=True, check=False)
    answers = [cli(*command.split()) for command in commands]

    assert (done.returncode, done.stderr) == (0, "")
    assert [answer.code for answer in answers] == [0, 0, 0]
    shown, told, _ = answers
    for line in ("✅ completed 100 %  hello", "   greet      3     3", "   count      1     1"):
        assert line in PAGE
        assert line in shown.out.splitlines()
    assert told.json["job_id"] == done.stdout.strip()
    assert told.json["result"] == {"greetings": 3}
