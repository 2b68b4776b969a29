-- question: When must a card be blocked, because gift cards followed by electronics add up to more than 10,000 within
--           10 minutes, over at least three such pairs?
--
-- Application III of "Complex Event Analytics" (A-Seq): EMIT CHANGES returns a row as soon as a purchase changes the
-- number of live pairs and their total, so the first row past the threshold is the moment to act.
--
-- order: by time.
SELECT card, MIN(emit_time) AS block_at, MAX(pairs) AS most_pairs, MAX(total) AS highest_total
FROM purchases MATCH PATTERN (
  SEQ(GiftCard g, Electronics e)
  EVENT TYPE category
  PARTITION BY card
  ORDER BY ts
  WITHIN 10 minutes
  MEASURES COUNT(*) AS pairs, SUM(g.amount) + SUM(e.amount) AS total EMIT CHANGES
)
WHERE pairs >= 3 AND total > 10000
GROUP BY card
ORDER BY block_at;
