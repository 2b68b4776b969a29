"""``sparkcep precompile``: compile the kernels before a query needs them, here or for the workers of a cluster."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from importlib import import_module
from pathlib import Path

import click

PACKAGES = ("sparkcep", "rewrites", "sql_functions")


@click.command()
@click.option("--times", is_flag=True, help="Print the processor time of each kernel.")
@click.option("--jobs", type=click.IntRange(1), help="Processes; by default one for each processor.")
@click.option(
    "--archive",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write the packages and their kernels to this .zip, for spark.submit.pyFiles.",
)
def precompile(times: bool, jobs: int | None, archive: Path | None) -> None:
    """Compile what the engines run, so that no query waits for it."""
    arguments = ["--times"] * times + (["--jobs", str(jobs)] if jobs else [])
    if archive is None:
        _compile(arguments, os.environ)
        return
    if archive.suffix != ".zip":
        raise click.UsageError(f"--archive {archive} does not end in .zip, from which alone Spark's workers import")
    _write(archive, arguments)
    click.echo(f"{archive}: the packages and their kernels, {archive.stat().st_size / 1e6:.1f} MB")


def _compile(arguments: list[str], environment: dict[str, str] | os._Environ[str]) -> None:
    """In a process that has neither Spark nor this command loaded."""
    command = [sys.executable, "-m", "sparkcep.engines.precompile", *arguments]
    if subprocess.run(command, env=environment, check=False).returncode:
        raise click.ClickException("the kernels could not be compiled")


def _write(archive: Path, arguments: list[str]) -> None:
    """Copy the packages with what is compiled, compile the rest beside the copies, and put all into the archive."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for package in PACKAGES:
            source = Path(str(import_module(package).__file__)).parent
            shutil.copytree(source, folder / package, ignore=_left_out)
        environment = {key: value for key, value in os.environ.items() if key != "NUMBA_CACHE_DIR"}
        path = os.pathsep.join([name, *filter(None, [environment.get("PYTHONPATH")])])
        _compile(arguments, environment | {"PYTHONPATH": path, "PYTHONSAFEPATH": "1", "PYTHONDONTWRITEBYTECODE": "1"})
        with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as content:
            for file in sorted(folder.rglob("*")):
                if file.is_file() and not file.name.startswith("sparkcep-kernels"):
                    content.write(file, file.relative_to(folder))


def _left_out(folder: str, names: list[str]) -> list[str]:
    """Of a cache: all but kernels that were compiled after their source was written (numba looks whether they are of this very source)."""
    if Path(folder).name != "__pycache__":
        return []
    return [name for name in names if not (name.endswith((".nbi", ".nbc")) and _is_newer(Path(folder, name)))]


def _is_newer(kernel: Path) -> bool:
    source = kernel.parents[1] / f"{kernel.name.partition('.')[0]}.py"
    return source.is_file() and source.stat().st_mtime_ns < kernel.stat().st_mtime_ns
