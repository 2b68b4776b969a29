"""Small inputs, as the SQL that makes them."""

TABLES = {
    "ticks": """SELECT * FROM VALUES
  ('A', 1, 12), ('A', 2, 10), ('A', 3, 9), ('A', 4, 11), ('A', 5, 13), ('A', 6, 12), ('A', 7, 8), ('A', 8, 10),
  ('B', 1, 5), ('B', 2, 6), ('B', 3, 4), ('B', 4, 7)
  AS ticks(sym, ts, price)""",
    "clicks": """SELECT * FROM VALUES
  ('u1', 'View', 1, 'x', 10), ('u1', 'Cart', 2, 'x', 20), ('u1', 'Buy', 3, 'x', 30),
  ('u1', 'View', 4, 'y', 5), ('u1', 'Buy', 9, 'y', 50),
  ('u2', 'View', 1, 'x', 7), ('u2', 'Buy', 2, 'z', 8)
  AS clicks(user, type, ts, item, amount)""",
    "names": "SELECT * FROM VALUES ('A', 'Alpha'), ('B', 'Beta'), ('C', 'Gamma') AS names(sym, name)",
    "users": "SELECT * FROM VALUES ('u1', 'Ann'), ('u2', 'Bob'), ('u3', 'Cid') AS users(user, name)",
}
