"""What every command makes of its options: Spark's settings."""

from __future__ import annotations

from pathlib import Path

import click

FOLDER = click.Path(file_okay=False, path_type=Path)

QUIET = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "ERROR",
    "spark.sql.shuffle.partitions": "8",
}
"""Settings for a short-lived local session; ``--conf`` overrides them."""


def settings(conf: tuple[str, ...], option: str = "--conf") -> dict[str, str]:
    """``KEY=VALUE`` texts as a dictionary. Raises click.UsageError that names ``option``."""
    pairs = [setting.partition("=") for setting in conf]
    wrong = next((key for key, equals, _ in pairs if not equals), None)
    if wrong is not None:
        raise click.UsageError(f"{option} {wrong} is not KEY=VALUE")
    return {key: value for key, _, value in pairs}
