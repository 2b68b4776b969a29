"""How tests start Spark, and ``python -m tests.spark_setup FILE``, which makes these starts cheaper, once for an environment.

* FILE is an archive of the classes that Spark loads, which halves the time of a start. To make it a session runs a clause over a table and over a
  stream; when it ends, the JVM writes what it has loaded. A JVM that finds other jars than these ignores the archive.
* The Pythons that Spark starts import PySpark from its folder: on their path Spark puts an archive of it first, each of whose modules is compiled
  anew, which takes 0.7 s. (Those that run functions do so wherever sparkcep starts them, see ``sparkcep.daemon``.)
"""

from __future__ import annotations

import os
import sys
import sysconfig
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from pyspark import SparkContext

import sparkcep

ARCHIVE = Path(__file__).resolve().parents[1] / ".venv" / "spark.jsa"
QUIET = "-Xlog:disable -Xlog:all=error:stderr"
"""What the JVM says of classes that it cannot archive would stand among what its program prints."""
JAVA = "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=240m -XX:+UseSerialGC -Xmn192m -XX:MetaspaceSize=256m"
"""None lives long enough to earn back the time of the optimising compiler, which takes half of all that they need. The fast compiler's own default
is a code cache for small programs."""
SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.log.level": "OFF",
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.timeType.enabled": "true",
    "spark.default.parallelism": "2",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.streaming.checkpointFileManagerClass": "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager",
    "spark.sql.streaming.checkpoint.fileChecksum.enabled": "false",
    "spark.sql.streaming.pollingDelay": "100ms",
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
    "sparkcep.stream.buckets": "2",
    "spark.driver.memory": "2g",
    "spark.driver.extraJavaOptions": "-XX:CompileThresholdScaling=0.2 -Xms1500m -Xmn1000m",
}
"""Without generated code, which takes longer to compile than such tables to read; of the sessions in processes of their own, those of the command line, the notebook and the cluster have it.
Streams write few files: each of Hadoop's is one more process, and by default Spark writes a second one beside it, and a micro-batch all its state.
Those that wait list their folder every 10 ms by default, in the time of those that work.
Code is compiled after a fifth of the usual calls: of what Spark does with a statement, much is done a few hundred times in all tests. A statement leaves
tens of megabytes of garbage: in a large heap it is collected a fifth as often."""
ONE_JOB = {"spark.sql.adaptive.enabled": "false"}
"""Of the tests' session: with adaptive execution, which plans anew after each exchange, the JVM works a fifth longer for small queries. What runs in
processes and servers of its own has it, and files about how rows are distributed over tasks (the fixture ``adaptive``)."""
ADAPTIVE = {"spark.sql.adaptive.enabled": "true"}
GENERATED = {"spark.sql.codegen.wholeStage": "true", "spark.sql.codegen.factoryMode": "FALLBACK", **ADAPTIVE}
"""With generated code, for questions about many rows."""
CLAUSE = "SELECT k, d FROM {} MATCH_RECOGNIZE (PARTITION BY k ORDER BY ts MEASURES b.x - a.x AS d PATTERN (a b) WITHIN INTERVAL 1 HOUR DEFINE b AS x > PREV(x))"


FOLDERS = "import sys; sys.path[:] = [entry for entry in sys.path if not entry.endswith('pyspark.zip')]\n"
"""What each Python of this environment runs when it starts."""


def options() -> str:
    """Of every JVM that the tests start."""
    return f"{JAVA} -XX:SharedArchiveFile={ARCHIVE} {QUIET}" if ARCHIVE.exists() else JAVA


def archive(file: Path) -> None:
    """Writes the archive."""
    dump = {"spark.driver.extraJavaOptions": f"{JAVA} {QUIET} -XX:ArchiveClassesAtExit={file}"}
    spark = sparkcep.session("classes", "local[2]", **(SETTINGS | dump))
    with TemporaryDirectory() as folder:
        rows = (
            "VALUES ('a', 1, TIMESTAMP'2024-01-01 00:00:00'), ('a', 2, TIMESTAMP'2024-01-01 00:00:01') AS t(k, x, ts)"
        )
        spark.sql(f"SELECT * FROM {rows}").write.parquet(f"{folder}/in")
        still = spark.read.parquet(f"{folder}/in")
        still.createOrReplaceTempView("still")
        spark.sql(f"{CLAUSE.format('still')} ORDER BY 1").collect()
        spark.sql("SELECT k, COUNT(*) FROM still JOIN still AS other USING (k) GROUP BY k").toPandas()
        moving = spark.readStream.schema(still.schema).parquet(f"{folder}/in").withWatermark("ts", "1 second")
        moving.createOrReplaceTempView("moving")
        writer = spark.sql(CLAUSE.format("moving").replace("d FROM", "d, match_id FROM")).writeStream.format("parquet")
        writer = writer.option("checkpointLocation", f"{folder}/check").option("path", f"{folder}/out")
        writer.trigger(availableNow=True).start().awaitTermination()
    jvm = SparkContext._gateway
    spark.stop()
    _end(jvm)


def _end(jvm: Any) -> None:
    """Wait for its exit, at which it writes; left to itself it outlives this process."""
    jvm.shutdown()
    jvm.proc.stdin.close()
    jvm.proc.wait()


if __name__ == "__main__":
    os.environ.pop("JAVA_TOOL_OPTIONS", None)
    Path(sysconfig.get_path("purelib"), "pyspark_from_its_folder.pth").write_text(FOLDERS)
    archive(Path(sys.argv[1]))
