"""``sparkcep thriftserver``: Spark's own HiveThriftServer2 in this process, with the extension in all its sessions.

In: an address, a Spark master, Spark and Hive settings. Out: a server that BI tools reach over JDBC, ODBC and PyHive, until it is stopped.
Authentication and TLS are Spark's (``hive.server2.*``); this module only refuses to open an unauthenticated server to the network.
"""

from __future__ import annotations

import ipaddress
import os
import threading
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from py4j.protocol import Py4JError, Py4JJavaError
from pyspark.sql import SparkSession

from sparkcep.errors import CepUnsupportedError
from sparkcep.session import session
from sparkcep.session.warehouse import CATALOG, keep_log, storage

DEFAULTS: Mapping[str, str] = {
    **CATALOG,
    "spark.ui.enabled": "false",
    "spark.log.level": "WARN",
}
"""Server settings that ``--conf`` overrides. Spark's UI listens on all addresses without a password, so it is off by default."""

UNAUTHENTICATED = frozenset({"", "NONE", "NOSASL"})
"""Values of hive.server2.authentication that admit everybody."""

_HOST = "HIVE_SERVER2_THRIFT_BIND_HOST"
_PORT = "HIVE_SERVER2_THRIFT_PORT"
_REGISTERED = 2
"""REG_FUNCS_DONE in Hive's class Hive."""
_ALIVE_SECONDS = 1.0
"""The interval at which a waiting server checks that its JVM is alive."""


class ThriftServer:
    """A running HiveThriftServer2 and the Spark session it belongs to."""

    def __init__(self, spark: SparkSession, java_server: Any) -> None:
        self.spark = spark
        self._java_server = java_server
        self.port = int(_thrift_service(java_server).getPortNumber())

    def wait(self, told_to_stop: threading.Event) -> bool:
        """Block until ``told_to_stop`` is set (True) or the JVM is gone (False)."""
        process = self.spark.sparkContext._gateway.proc
        while not told_to_stop.wait(_ALIVE_SECONDS):
            if process.poll() is not None:
                return False
        return True

    def stop(self) -> None:
        """Close the port, then stop Spark. A signal to the whole process group may already have stopped the JVM."""
        with suppress(Py4JError, OSError):
            self._java_server.stop()
        with suppress(Py4JError, OSError):
            self.spark.stop()


def start(
    host: str, port: int, master: str | None, settings: Mapping[str, str], warehouse: Path | None, *, insecure: bool
) -> ThriftServer:
    """Start Spark and its Thrift server on ``host``:``port`` (0: a free one). ``settings``: Spark's, and Hive's ``hive.…``.

    Raises CepUnsupportedError for a server that everybody on the network could use, unless ``insecure``; Py4JJavaError if Spark cannot start it.
    """
    os.environ |= {_HOST: host, _PORT: str(port)}  # in Spark's server these override its settings
    spark = session("sparkcep thriftserver", master, **server_settings(host, port, settings, warehouse))
    keep_log(spark, warehouse)
    try:
        authentication = _hive_setting(spark, "hive.server2.authentication")
        if not insecure:
            require_authentication(host, authentication)
        _show_providers(spark, settings)
        _pass_over_hive_functions(spark)
        server = spark._jvm.org.apache.spark.sql.hive.thriftserver.HiveThriftServer2
        return ThriftServer(spark, server.startWithContext(spark._jsparkSession.sqlContext()))
    except Exception:
        spark.stop()
        raise


def server_settings(host: str, port: int, settings: Mapping[str, str], warehouse: Path | None) -> dict[str, str]:
    """The Spark settings of a server: the user's override ours; Hive's names get the prefix under which Spark passes them to Hive."""
    given = {f"spark.hadoop.{name}" if name.startswith("hive.") else name: value for name, value in settings.items()}
    address = {
        "spark.hadoop.hive.server2.thrift.bind.host": host,
        "spark.hadoop.hive.server2.thrift.port": str(port),
        "spark.hadoop.hive.server2.thrift.http.port": str(port),
    }
    return {**DEFAULTS, **storage(warehouse), **given, **address}


def require_authentication(host: str, authentication: str) -> None:
    """Raise if a server on ``host`` could be used by everybody on the network."""
    if is_loopback(host) or authentication.upper() not in UNAUTHENTICATED:
        return
    raise CepUnsupportedError(
        f"a Thrift server on {host} without authentication: everybody who reaches it can read and drop the tables",
        code="INSECURE_SERVER",
        hint="set --conf hive.server2.authentication=LDAP (or KERBEROS, CUSTOM), or pass --insecure",
    )


def is_loopback(host: str) -> bool:
    """Whether ``host`` is reachable from this machine only; a name other than localhost may mean any address."""
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def start_error(error: Py4JJavaError) -> str:
    """One line on why Spark could not start the server: the innermost cause."""
    java = error.java_exception
    while java.getCause() is not None:
        java = java.getCause()
    return str(java.getMessage() or java.toString())


def _hive_setting(spark: SparkSession, name: str) -> str:
    """The effective value of a setting: ours, hive-site.xml's, or Hive's default."""
    hadoop = spark._jsparkSession.sessionState().newHadoopConf()
    conf = spark._jvm.org.apache.hadoop.hive.conf.HiveConf(hadoop, hadoop.getClass())
    return str(conf.get(name) or "")


def _show_providers(spark: SparkSession, settings: Mapping[str, str]) -> None:
    """Copy settings to Java's properties, where Hive's password checkers (LDAP, CUSTOM) find them: they create a HiveConf of their own, without
    Spark's settings."""
    for name, value in settings.items():
        hive_name = name.removeprefix("spark.hadoop.").removeprefix("spark.")
        if hive_name.startswith("hive.server2."):
            spark._jvm.System.setProperty(hive_name, value)


def _pass_over_hive_functions(spark: SparkSession) -> None:
    """Mark Hive's own functions as registered: Spark never uses them, and lacks a class that their registration needs (LlapSigner).

    Without this, a session that closes on a thread new to Hive fails with NoClassDefFoundError, and the next one there hangs.
    """
    jvm, gateway = spark._jvm, spark.sparkContext._gateway
    with suppress(Py4JJavaError):  # a Hive version other than 2.3
        state = jvm.java.lang.Class.forName("org.apache.hadoop.hive.ql.metadata.Hive").getDeclaredField(
            "didRegisterAllFuncs"
        )
        state.setAccessible(True)
        parameters = gateway.new_array(jvm.java.lang.Class, 1)
        parameters[0] = jvm.java.lang.Integer.TYPE
        handles = jvm.java.lang.invoke.MethodHandles
        change = handles.lookup().unreflect(state.getType().getMethod("set", parameters))
        # py4j would convert the AtomicInteger to a number, so both calls are made in Java.
        made = handles.collectArguments(change, 0, handles.lookup().unreflectGetter(state))
        made.invokeWithArguments(jvm.java.util.List.of(_REGISTERED))


def _thrift_service(java_server: Any) -> Any:
    """The listening service of the server (the other one is CLIService)."""
    return next(service for service in java_server.getServices() if service.getName().startswith("Thrift"))
