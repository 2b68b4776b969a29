-- question: When do the prices of A, B and C fall from each to the next within 12 minutes, if all ticks have one event type?
--
-- Pattern 10 of the lazy NFA paper: the stock is an attribute and the rates are unknown, so the order is chosen from the data.
--
-- order: by the three times.
SELECT x.at AS a_at, y.at AS b_at, z.at AS c_at
FROM (SELECT *, 'E' AS type FROM stocks) MATCH PATTERN (
  SEQ(E x, E y, E z)
  EVENT TYPE type ORDER BY at
  WHERE x.stock = 'A' AND y.stock = 'B' AND z.stock = 'C' AND x.price > y.price AND y.price > z.price
  WITHIN 12 minutes
)
ORDER BY a_at, b_at, c_at;
