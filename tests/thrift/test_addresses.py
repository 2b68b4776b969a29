"""Where a server may listen without authentication, and whose settings win."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from sparkcep.errors import CepUnsupportedError
from sparkcep.thriftserver import is_loopback, require_authentication, server_settings
from tests.thrift.server import COMMAND

OPEN = [("127.0.0.1", "NONE"), ("::1", "NONE"), ("localhost", ""), ("0.0.0.0", "LDAP"), ("10.0.0.7", "kerberos")]
REFUSED = [("0.0.0.0", "NONE"), ("::", ""), ("10.0.0.7", "NOSASL"), ("db.example", "none"), ("", "NONE")]


def test_addresses() -> None:
    for host, authentication in OPEN:
        require_authentication(host, authentication)
    for host, authentication in REFUSED:
        with pytest.raises(CepUnsupportedError, match="INSECURE_SERVER"):
            require_authentication(host, authentication)
    assert [is_loopback(host) for host in ("127.8.8.8", "[::1]", "LOCALHOST", "0.0.0.0")] == [True, True, True, False]


def test_settings_of_the_user_win_but_for_the_address(tmp_path: Path) -> None:
    given = {
        "hive.server2.authentication": "LDAP",
        "spark.ui.enabled": "true",
        "hive.server2.thrift.bind.host": "0.0.0.0",
    }
    settings = server_settings("127.0.0.1", 7, given, tmp_path / "w")
    assert settings["spark.hadoop.hive.server2.authentication"] == "LDAP"
    assert settings["spark.ui.enabled"] == "true"
    assert settings["spark.hadoop.hive.server2.thrift.bind.host"] == "127.0.0.1"
    assert (tmp_path / "w").is_dir()


def test_no_open_server_for_the_network(program: dict[str, str], tmp_path: Path) -> None:
    command = [*COMMAND, "--host", "0.0.0.0", "--port", "0", "--master", "local[1]"]
    done = subprocess.run(command, env=program, cwd=tmp_path, capture_output=True, text=True, timeout=180, check=False)
    assert done.returncode == 1
    assert "[CEP_UNSUPPORTED_INSECURE_SERVER]" in done.stderr
    assert "--insecure" in done.stderr
    assert "Traceback" not in done.stderr
    assert "ready" not in done.stdout
