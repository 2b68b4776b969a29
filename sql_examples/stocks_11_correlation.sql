-- question: Which companies of three regions moved together, in this order, within ten minutes?
--
-- Pattern 11 of the lazy NFA paper, the one used in its experiments: the Pearson correlation of each pair of price histories
-- exceeds a threshold. It is an ordinary function over arrays (setup/papers.sql); Spark applies it to the matches.
--
-- order: by the three times.
SELECT a.at AS na_at, b.at AS eu_at, c.at AS afr_at
FROM stocks MATCH PATTERN (
  SEQ(NACompany a, EuCompany b, AfrCompany c)
  EVENT TYPE region ORDER BY at
  WHERE skip_till_any_match(a, b, c) {
    pearson(a.history, b.history) > 0.3 AND pearson(b.history, c.history) > 0.3 AND pearson(a.history, c.history) > 0.3 }
  WITHIN 10 minutes
)
ORDER BY na_at, eu_at, afr_at;
