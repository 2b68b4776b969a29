"""Passwords (LDAP) and TLS by Spark's own settings, on a server that was restarted: the views of the one before are there."""

from __future__ import annotations

import ssl
import subprocess
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import pytest
import sqlalchemy
import thrift_sasl
from pyhive import exc, hive
from thrift.transport import TSSLSocket, TTransport

from tests.shared_jvm import environment
from tests.thrift.conftest import BOUGHT
from tests.thrift.directory import directory
from tests.thrift.server import Server, Servers, rows

PASSWORD, KEYSTORE_PASSWORD = "correct-horse", "battery-staple"
PAIRS = "SELECT COUNT(*) AS pairs, MAX(paid) AS most FROM shop.pairs WHERE user_id = 3"
QUERY = f"SELECT COUNT(*) AS n FROM shop.events MATCH PATTERN (\n{BOUGHT} WHERE b.ts - v.ts < 3)"
"""Each of the 4 Views of a user has 2 Buys within 3: 16 users have 128 such pairs."""

HIVE_SITE = f"""<configuration><property>
<name>hive.server2.keystore.password</name><value>{KEYSTORE_PASSWORD}</value>
</property></configuration>"""


@dataclass(frozen=True, slots=True)
class Keys:
    """The server's key; its certificate alone, as Java and as Python read it."""

    server: Path
    trusted: Path
    certificate: Path


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> Keys:
    """As the page of the clients has ``keytool`` make them, for 127.0.0.1."""
    folder = tmp_path_factory.mktemp("tls")
    keys = Keys(folder / "server.p12", folder / "trusted.p12", folder / "server.pem")
    key = ["-genkeypair", "-keyalg", "RSA", "-validity", "365", "-dname", "CN=localhost", "-ext", "SAN=ip:127.0.0.1"]
    _keytool(keys.server, *key, "-storetype", "PKCS12")
    _keytool(keys.server, "-exportcert", "-rfc", "-file", str(keys.certificate))
    _keytool(keys.trusted, "-importcert", "-noprompt", "-file", str(keys.certificate), "-storetype", "PKCS12")
    return keys


@pytest.fixture(scope="module")
def secured(servers: Servers, keys: Keys, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server with LDAP and TLS in the place of the plain one, on its warehouse; the keystore's password is in hive-site.xml."""
    configuration = tmp_path_factory.mktemp("conf")
    (configuration / "hive-site.xml").write_text(HIVE_SITE)
    with directory({"uid=analyst,ou=people,dc=shop": PASSWORD}) as url:
        yield servers.ensure(
            {
                "hive.server2.authentication": "LDAP",
                "hive.server2.authentication.ldap.url": url,
                "hive.server2.authentication.ldap.baseDN": "ou=people,dc=shop",
                "hive.server2.use.SSL": "true",
                "hive.server2.keystore.path": str(keys.server),
            },
            {"SPARK_CONF_DIR": str(configuration)},
        )


def connect(server: Server, keys: Keys, password: str) -> hive.Connection:
    """PyHive over TLS: it takes a transport made by hand."""
    socket = TSSLSocket.TSSLSocket(
        "127.0.0.1", server.port, ssl_context=ssl.create_default_context(cafile=keys.certificate)
    )
    client = lambda: hive.get_installed_sasl(  # noqa: E731
        host="127.0.0.1", sasl_auth="PLAIN", username="analyst", password=password
    )
    return hive.connect(thrift_transport=thrift_sasl.TSaslClientTransport(client, "PLAIN", socket))


def test_a_wrong_password_is_refused(secured: Server, keys: Keys) -> None:
    with closing(connect(secured, keys, PASSWORD)) as connection:
        assert rows(connection, QUERY) == [(128,)]
    for password in ("wrong", ""):
        with pytest.raises(TTransport.TTransportException, match="Error validating the login"):
            connect(secured, keys, password)


def test_a_client_without_tls_or_without_trust_gets_nothing(secured: Server) -> None:
    with pytest.raises(TTransport.TTransportException):
        secured.connect()
    socket = TSSLSocket.TSSLSocket("127.0.0.1", secured.port, ssl_context=ssl.create_default_context())
    with pytest.raises(TTransport.TTransportException):
        socket.open()


def test_beeline_with_password_and_tls(secured: Server, keys: Keys) -> None:
    trust = f"ssl=true;sslTrustStore={keys.trusted};trustStorePassword={KEYSTORE_PASSWORD}"
    url = f"jdbc:hive2://127.0.0.1:{secured.port}/shop;{trust}"
    command = ["beeline", "-u", url, "-n", "analyst", "--outputformat=csv2", "-e", QUERY, "-p"]
    accepted, refused = (
        subprocess.run([*command, word], env=environment(), capture_output=True, text=True, timeout=180, check=False)
        for word in (PASSWORD, "wrong")
    )
    assert accepted.stdout.splitlines()[-1:] == ["128"], accepted.stderr
    assert refused.returncode != 0
    assert "128" not in refused.stdout
    assert "Error validating the login" in refused.stderr


def test_views_after_a_restart(secured: Server, keys: Keys) -> None:
    """Views and a table that the server before made, read by SQLAlchemy; global temporary views went with that server."""
    engine = sqlalchemy.create_engine("hive://", creator=lambda: connect(secured, keys, PASSWORD))
    with engine.connect() as connection:
        ask = lambda query: connection.execute(sqlalchemy.text(query)).fetchall()  # noqa: E731
        assert {name for _, name, _ in ask("SHOW TABLES IN shop")} >= {"events", "pairs", "rises", "sold"}
        assert {name for _, name, *_ in ask("SHOW VIEWS IN shop")} >= {"pairs", "rises"}
        assert [row[:2] for row in ask("DESCRIBE shop.rises")] == [
            ("user_id", "int"),
            ("since", "int"),
            ("steps", "bigint"),
            ("top", "decimal(6,2)"),
        ]
        assert [str(value) for value in ask(PAIRS)[0]] == ["20", "33.00"]
        assert ask("SELECT steps FROM shop.rises WHERE user_id = 7") == [(11,)]
        assert ask("SELECT pairs, most FROM shop.sold WHERE user_id = 2") == [(20, 22)]
        assert "everybodys" not in {name for _, name, _ in ask("SHOW TABLES IN global_temp")}
    engine.dispose()


def test_named_patterns_after_a_restart(secured: Server, keys: Keys) -> None:
    """Made by the server before; changed and dropped by this one. Their table is one of the warehouse's."""
    query = "SELECT COUNT(*) FROM events MATCH PATTERN bought"
    with closing(connect(secured, keys, PASSWORD)) as connection:
        shown = rows(connection, "USE shop", "SHOW PATTERNS")
        assert [(name, clause, comment) for name, clause, _, comment in shown] == [
            ("bought", "MATCH PATTERN", "bought")
        ]
        stored = {name: kind for name, kind, _ in rows(connection, "DESCRIBE EXTENDED sparkcep_patterns")}
        assert str(stored["Location"]).endswith("/warehouse/shop.db/sparkcep_patterns")
        assert rows(connection, query) == [(320,)]
        assert rows(connection, f"ALTER PATTERN bought REPLACE AS ({BOUGHT} WITHIN 2)", query) == [(64,)]
        with pytest.raises(exc.OperationalError, match="CEP_ANALYSIS_UNKNOWN_PATTERN"):
            rows(connection, "DROP PATTERN bought", query)


def _keytool(store: Path, *arguments: str) -> None:
    options = ["-keystore", str(store), "-storepass", KEYSTORE_PASSWORD, "-alias", "server"]
    subprocess.run(["keytool", *arguments, *options], check=True, capture_output=True)
