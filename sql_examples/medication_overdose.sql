-- question: When did John take more than 1,000 mg of antibiotics in two doses within four hours?
--
-- The healthcare query of SASE: [name = 'John'] tests every event, the sum compares two.
--
-- order: by time.
SELECT x.taken_at AS first_at, y.taken_at AS second_at, x.amount + y.amount AS total
FROM medicine MATCH PATTERN (
  SEQ('MEDICINE-TAKEN' x, 'MEDICINE-TAKEN' y)
  ORDER BY taken_at
  WHERE [name = 'John'] AND [medicine = 'Antibiotics'] AND x.amount + y.amount > 1000
  WITHIN 4 hours
)
ORDER BY first_at, second_at;
