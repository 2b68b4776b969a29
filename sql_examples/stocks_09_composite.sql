-- question: Which As and Ds less than five minutes apart come with a B or a C, and which of the two?
--
-- Pattern 9 of the lazy NFA paper: a disjunction inside a conjunction, two chains in normal form.
--
-- order: by the times.
SELECT a.at AS a_at, d.at AS d_at, coalesce(b.stock, c.stock) AS beside, coalesce(b.at, c.at) AS beside_at
FROM stocks MATCH PATTERN (
  AND(A a, OR(B b, C c), D d)
  EVENT TYPE stock ORDER BY at
  WITHIN 5 minutes
)
ORDER BY a_at, d_at, beside, beside_at;
