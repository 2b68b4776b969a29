"""What Spark's stateful streams import and PySpark does not install, checked first: where it is missing, a worker ends without a word."""

from __future__ import annotations

from functools import cache

from pyspark.sql.pandas.utils import require_minimum_pandas_version

from sparkcep.errors import CepUnsupportedError


@cache
def require_packages() -> None:
    """Raise CepUnsupportedError if pandas or protobuf is missing here, or older than Spark needs."""
    try:
        require_minimum_pandas_version()
        import pyspark.sql.streaming.proto.StateMessage_pb2  # noqa: F401  which asks protobuf for its version
    except Exception as missing:
        raise CepUnsupportedError(
            f"a pattern over a stream in this Python: {missing}",
            code="STREAM_PACKAGES",
            hint="pip install sparkcep, which adds what is missing; on the workers too",
        ) from None
