"""The V-shape over a stream in sparkcep and in Flink SQL's streaming mode: events/s of each, on the same rows.

In: files of prices as in ``stream.py``, out of order by up to five seconds, as CSV (PyFlink's wheel has no Parquet format). sparkcep reads a file
a micro-batch, in the order of their times; Flink's file source takes files in any order, which would make rows late: it reads the rows as one file.
Both let the watermark follow five seconds behind and write the matches to a sink that drops them (noop, blackhole).

Out: events/s and the ratio. sparkcep: of the last third of the micro-batches, when the JVM has compiled what runs, and of the whole run. Flink has no
micro-batches: of the whole run without the time of a run over one row, and ``--repetitions`` in one process, the fastest of which counts. Both count
their matches over the whole rows, and must agree. Flink: parallelism 2, object reuse, a mini cluster inside the process; sparkcep: ``local[2]``.

    python benchmarks/stream_flink.py [--rows N] [--batches N] [--repetitions N]
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import sys
import time

import polars as pl
import row_pattern_flink
import scan
import stream

KEYS = 1_000
COLUMNS = "key INT, ts_us BIGINT, price BIGINT"
SELECT = f"SELECT key, first_price, lowest, last_price FROM {{}} {row_pattern_flink.CLAUSE}"
COUNT = "SELECT COUNT(*) AS found, SUM(last_price - first_price) AS gain, SUM(lowest) AS lowest FROM ({})"

FLINK_PROGRAM = """
import json, sys, time
from pyflink.table import EnvironmentSettings, TableEnvironment

request = json.loads(sys.argv[1])
tables = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
tables.get_config().set("parallelism.default", "2").set("pipeline.object-reuse", "true")
for statement in request["tables"]:
    tables.execute_sql(statement)
answers = {"seconds": {}}
for name, statement in request["jobs"].items():
    answers["seconds"][name] = []
    for _ in range(request["repetitions"]):
        start = time.perf_counter()
        tables.execute_sql(statement).wait()
        answers["seconds"][name].append(time.perf_counter() - start)
tables.get_config().set("table.exec.mini-batch.enabled", "true").set("table.exec.mini-batch.allow-latency", "5 s")
tables.get_config().set("table.exec.mini-batch.size", "100000")
answers["answer"] = list(list(tables.execute_sql(request["count"]).collect())[-1])
print(json.dumps(answers))
"""


def main() -> None:
    """Flink first; both lines and the ratio."""
    options = _options()
    total = options.rows * options.batches
    print(f"{total:,} rows, {KEYS:,} keys; {scan.surroundings()}", flush=True)
    try:
        _write(options.rows, options.batches)
        net, answer = _flink(options.repetitions)
        print(
            f"Flink: {total / net:,.0f} events/s in {net:.1f} s, start not counted; {answer[0]:,} matches", flush=True
        )
        steady, seconds, found = _sparkcep(options.rows, options.batches)
        whole = total / seconds
        print(f"sparkcep: {steady:,.0f} events/s steady, {whole:,.0f} of the whole run; {found[0]:,} matches")
        if found != answer:
            sys.exit(f"different answers: sparkcep {found}, Flink {answer}")
        print(f"sparkcep / Flink: {steady * net / total:.2f} x its throughput; target 1")
    except row_pattern_flink.UnavailableError as error:
        print(f"Flink cannot be measured here: {error}")
    finally:
        shutil.rmtree(stream.WORK, ignore_errors=True)
    print(scan.surroundings())


def _write(rows: int, batches: int) -> None:
    """``in``: Parquet, a file a micro-batch; ``csv``: the same as CSV; ``whole``: as one; ``one``: a single row."""
    stream.write_files(stream.WORK, rows, batches, KEYS)
    for folder in ("csv", "whole", "one"):
        (stream.WORK / folder).mkdir()
    with (stream.WORK / "whole" / "rows.csv").open("wb") as whole:
        for path in sorted((stream.WORK / "in").iterdir()):
            read = pl.read_parquet(path).select("key", pl.col("ts").dt.epoch("us"), "price")
            text = read.write_csv(include_header=False).encode()
            whole.write(text)
            made = stream.WORK / "csv" / f"{path.stem}.csv"
            made.write_bytes(text)
            stream.dated(made, int(path.stem))
    (stream.WORK / "one" / "row.csv").write_bytes(text[: text.index(b"\n") + 1])


def _flink(repetitions: int) -> tuple[float, tuple[int, ...]]:
    """Seconds of the whole rows without those of one row, and the answer."""
    clause = SELECT.format("{}", order="ts", measures=row_pattern_flink.MEASURES, define=row_pattern_flink.LAST_DEFINE)
    sink = "CREATE TABLE dropped (key INT, first_price BIGINT, lowest BIGINT, last_price BIGINT) WITH ('connector' = 'blackhole')"
    request = {
        "tables": [_table(name) for name in ("whole", "one")] + [sink],
        "jobs": {name: f"INSERT INTO dropped {clause.format(f'`{name}`')}" for name in ("one", "whole")},
        "count": COUNT.format(clause.format("`whole`")),
        "repetitions": repetitions,
    }
    python = row_pattern_flink.environment("flink", row_pattern_flink.FLINK)
    command = [str(python), "-c", FLINK_PROGRAM, json.dumps(request)]
    found = json.loads(row_pattern_flink.call(command, "Flink does not run").strip().splitlines()[-1])
    took = found["seconds"]
    return min(took["whole"]) - min(took["one"]), tuple(found["answer"])


def _table(folder: str) -> str:
    return f"""
    CREATE TABLE `{folder}` (key INT, ts_us BIGINT, price BIGINT, ts AS TO_TIMESTAMP_LTZ(ts_us / 1000, 3),
        WATERMARK FOR ts AS ts - INTERVAL '5' SECOND)
    WITH ('connector' = 'filesystem', 'path' = '{stream.WORK / folder}', 'format' = 'csv')
    """


def _sparkcep(rows: int, batches: int) -> tuple[float, float, tuple[int, ...]]:
    """Events/s of steady micro-batches, seconds of the whole run, and the answer."""
    spark = scan.session("stream_flink")
    spark.conf.set("spark.sql.shuffle.partitions", "2")
    spark.conf.set("spark.sql.streaming.numRecentProgressUpdates", "10000")
    moving = spark.readStream.schema(COLUMNS).option("maxFilesPerTrigger", 1).csv(str(stream.WORK / "csv"))
    timed = moving.selectExpr("key", "TIMESTAMP_MICROS(ts_us) AS ts", "price").withWatermark("ts", "5 seconds")
    timed.createOrReplaceTempView("prices")
    clause = SELECT.format(
        "prices", order="ts", measures=row_pattern_flink.MEASURES, define=row_pattern_flink.PREV_DEFINE
    )
    writer = spark.sql(clause).writeStream.format("noop").option("checkpointLocation", str(stream.WORK / "check"))
    began = time.perf_counter()
    query = writer.trigger(availableNow=True).start()
    query.awaitTermination()
    seconds = time.perf_counter() - began
    took = [one["durationMs"]["triggerExecution"] for one in query.recentProgress if one["numInputRows"]]
    still = (
        spark.read.schema(COLUMNS)
        .csv(str(stream.WORK / "whole"))
        .selectExpr("key", "TIMESTAMP_MICROS(ts_us) AS ts", "price")
    )
    still.createOrReplaceTempView("prices")
    found = tuple(spark.sql(COUNT.format(clause)).first())
    spark.stop()
    return rows * 1000 / statistics.median(took[batches * 2 // 3 :]), seconds, found


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=100_000, help="a micro-batch")
    parser.add_argument("--batches", type=int, default=120)
    parser.add_argument("--repetitions", type=int, default=2)
    return parser.parse_args()


if __name__ == "__main__":
    main()
