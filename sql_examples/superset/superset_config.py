"""What Superset needs to know of sparkcep: the last line. The rest is this run's own: where its database is, and its key."""

import os

from sparkcep.plugins.sqlglot_dialect import SparkCep

SECRET_KEY = os.environ["SUPERSET_SECRET_KEY"]
SQLALCHEMY_DATABASE_URI = f"sqlite:///{os.environ['SUPERSET_HOME']}/superset.db"
TALISMAN_ENABLED = False
RATELIMIT_ENABLED = False
SQLGLOT_DIALECTS_EXTENSIONS = {"sparkcep": SparkCep}
