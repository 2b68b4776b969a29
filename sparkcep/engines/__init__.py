"""The engines: from a MatchSpec and Arrow tables to matches. Spark and SQL are unknown here."""

from sparkcep.engines.kernel_cache import ensure_cache

ensure_cache()
