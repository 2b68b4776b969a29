-- question: Which sets of two or more Bs between A and C cost more than 99 dollars on average?
--
-- Pattern 6 of the lazy NFA paper: an aggregate over the closure decides.
--
-- order: by the two times, then the prices.
SELECT a.at AS a_at, c.at AS c_at, concat_ws(' ', transform(b, t -> CAST(t.price AS STRING))) AS prices
FROM stocks MATCH PATTERN (
  SEQ(A a, B{2,} b, C c)
  EVENT TYPE stock ORDER BY at
  WHERE AVG(b.price) > 9900
  WITHIN 9 minutes
)
ORDER BY a_at, c_at, prices;
