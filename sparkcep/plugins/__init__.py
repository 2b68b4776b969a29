"""What other tools load: a dialect for sqlglot, one for SQLAlchemy, and Superset's description of the database.

Each file needs the library of its tool only, in the version that the tool has; so ``pip install --no-deps sparkcep`` is enough there.
"""
