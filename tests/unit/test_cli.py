"""The shell command, as a process of its own."""

import subprocess
import sys

import pytest

COMMAND = [sys.executable, "-c", "from sparkcep.cli import main; main()", "sql", "--master", "local[1]"]
EVENTS = "(SELECT * FROM VALUES (1, 'A'), (2, 'B'), (3, 'B') AS e(ts, event_type))"
QUERY = f"SELECT a.ts AS a, b.ts AS b FROM {EVENTS} MATCH PATTERN (SEQ(A a, B b) ORDER BY ts) ORDER BY b"


@pytest.mark.spark
def test_statements_and_their_tables_up_to_an_error_without_a_trace(program, tmp_path):
    script = tmp_path / "script.sql"
    script.write_text(f"CREATE TEMP VIEW e AS SELECT 1;\n{QUERY};\n{QUERY.replace('B b', 'B b,')};\nSELECT 'never'")
    done = run("-f", str(script), environment=program)
    assert done.returncode == 1
    lines = [line.split() for line in done.stdout.splitlines()]
    assert ["1", "2"] in lines
    assert ["1", "3"] in lines
    assert "2 rows," in done.stdout
    assert "never" not in done.stdout
    assert "[CEP_SYNTAX" in done.stderr
    assert "^" in done.stderr
    assert "Traceback" not in done.stderr


def test_wrong_use():
    done = run()
    assert done.returncode == 2
    assert "-e or a file with -f" in done.stderr


def run(*arguments, environment=None):
    command = [*COMMAND, *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=180, env=environment, check=False)


def test_the_session_function_and_its_package_have_one_name():
    import sparkcep
    import sparkcep.session

    assert callable(sparkcep.session)
