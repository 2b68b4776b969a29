-- question: Which runs of three or more Bs of one lot size lie between A and C, within a quarter of an hour?
--
-- Pattern 7 of the lazy NFA paper: all elements of the closure agree on an attribute, so only equal events are searched.
--
-- order: by the two times, lot and number.
SELECT a.at AS a_at, c.at AS c_at, b[0].lot AS lot, size(b) AS ticks, COUNT(*) AS matches
FROM stocks MATCH PATTERN (
  SEQ(A a, B{3,} b, C c)
  EVENT TYPE stock ORDER BY at
  WHERE b[i].lot = b[i-1].lot
  WITHIN 15 minutes
)
GROUP BY a.at, c.at, b[0].lot, size(b)
ORDER BY a_at, c_at, lot, ticks;
