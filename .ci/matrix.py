"""Which Python and which Spark sparkcep works with, as a table: ``python .ci/matrix.py [--python PATH …] [--pyspark 4.2 …] [--keep DIR]``.

For every interpreter of 3.11 to 3.14 that is found here (on the PATH, of pyenv) and every PySpark series: an empty environment, the wheel and that
PySpark installed from the package index, ``smoke.py`` run outside of the tree. The table says what was run, what passed, and what could not be
installed.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).resolve().parent
PYTHONS = ("3.11", "3.12", "3.13", "3.14")
SPARKS = ("4.2", "4.3")
ENVIRONMENT = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "SPARK_HOME")}
"""Without what would show the tree, or another Spark, to the environments."""


class Answer(NamedTuple):
    """One line of the table; ``versions`` are those that were installed."""

    python: str
    pyspark: str
    answer: str


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--python", action="append", help="an interpreter; by default all of 3.11 to 3.14 that are found"
    )
    parser.add_argument("--pyspark", action="append", help="a series, as 4.2; by default 4.2 and 4.3")
    parser.add_argument("--keep", type=Path, help="a folder that keeps the environments and their logs")
    options = parser.parse_args()
    folder = options.keep or Path(tempfile.mkdtemp())
    wheel = build(folder / "dist")
    answers = []
    for version, python in interpreters(options.python):
        for series in options.pyspark or SPARKS:
            answers.append(run(wheel, python, version, series, folder))
            print(*answers[-1], sep=" | ", flush=True)
    print(f"\n{table(answers)}")
    if not options.keep:
        shutil.rmtree(folder)
    sys.exit(any(answer.answer.startswith(("failed", "no answer")) for answer in answers))


def build(folder: Path) -> Path:
    """The wheel of this tree."""
    subprocess.run(
        [sys.executable, "-m", "build", "--outdir", str(folder), str(HERE.parent)],
        check=True,
        stdout=subprocess.DEVNULL,
    )
    return next(folder.glob("*.whl"))


def interpreters(given: list[str] | None) -> Iterator[tuple[str, str | None]]:
    """Each version, and an interpreter that runs as that version, or None."""
    if given:
        yield from ((version_of(python) or python, python) for python in given)
        return
    for version in PYTHONS:
        pyenv = sorted(
            Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"), "versions").glob(f"{version}.*/bin/python")
        )
        candidates = [str(path) for path in pyenv] + [path for path in [shutil.which(f"python{version}")] if path]
        yield version, next((python for python in candidates if version_of(python) == version), None)


def version_of(python: str) -> str | None:
    program = "import sys; print('%d.%d' % sys.version_info[:2])"
    done = subprocess.run([python, "-c", program], capture_output=True, text=True, check=False)
    return done.stdout.strip() or None


def run(wheel: Path, python: str | None, version: str, series: str, folder: Path) -> Answer:
    """Install and ask; the log is beside the environment."""
    if python is None:
        return Answer(version, series, "not run: no such Python here")
    home = folder / f"python{version}-pyspark{series}"
    with (folder / f"{home.name}.log").open("w") as log:
        subprocess.run([python, "-m", "venv", "--clear", str(home)], check=True, stdout=log, stderr=log)
        inside = str(home / "bin" / "python")
        install = [inside, "-m", "pip", "install", "--disable-pip-version-check", "--upgrade"]
        wanted = [str(wheel), f"pyspark~={series}.0"]
        if subprocess.run([*install, *wanted], env=ENVIRONMENT, stdout=log, stderr=log, check=False).returncode:
            return Answer(version, series, "not run: cannot be installed")
        asked = subprocess.run(
            [inside, str(HERE / "smoke.py")],
            cwd=folder,
            env=ENVIRONMENT,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
            check=False,
        )
        log.write(asked.stdout)
    shutil.rmtree(home)
    return answer_of(asked.stdout, version, series)


def answer_of(output: str, version: str, series: str) -> Answer:
    lines = [line for line in output.splitlines() if line.startswith("{")]
    if not lines:
        return Answer(version, series, "no answer")
    found = json.loads(lines[-1])
    failed = "; ".join(f"{name}: {error}" for name, error in found["failed"].items())
    asked = len(found["passed"]) + len(found["failed"])
    text = f"failed: {failed}" if failed else f"passed: all {asked} questions"
    return Answer(found["python"], found["pyspark"], text)


def table(answers: list[Answer]) -> str:
    lines = [
        "| Python | PySpark | |",
        "|---|---|---|",
        *(f"| {a.python} | {a.pyspark} | {a.answer} |" for a in answers),
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    main()
