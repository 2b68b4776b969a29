-- question: Which European companies, one or more, all moved with an American one, before an African one that no Asian company moved with?
--
-- Iteration and negation from the same paper's experiments. Conditions on closures and negated events are evaluated by the engine,
-- which compares numbers: for histories scaled to mean 0 and length 1, the correlation is the sum of the products.
--
-- order: by the times.
WITH sums AS (
  SELECT *, aggregate(history, 0D, (s, v) -> s + v) AS s1, aggregate(history, 0D, (s, v) -> s + v * v) AS s2 FROM stocks
), scaled AS (
  SELECT stock, region, at, transform(history, v -> (v - s1 / 5) / nullif(sqrt(s2 - s1 * s1 / 5), 0D)) AS z FROM sums
), flat AS (
  SELECT stock, region, at, z[0] AS z0, z[1] AS z1, z[2] AS z2, z[3] AS z3, z[4] AS z4 FROM scaled
)
SELECT a.at AS na_at, concat_ws(' ', transform(b, t -> date_format(t.at, 'HH:mm:ss'))) AS eu_at, c.at AS afr_at
FROM flat MATCH PATTERN (
  SEQ(NACompany a, EuCompany+ b, NOT AsiaCompany n, AfrCompany c)
  EVENT TYPE region ORDER BY at
  WHERE a.z0 * b[i].z0 + a.z1 * b[i].z1 + a.z2 * b[i].z2 + a.z3 * b[i].z3 + a.z4 * b[i].z4 > 0.8
    AND n.z0 * c.z0 + n.z1 * c.z1 + n.z2 * c.z2 + n.z3 * c.z3 + n.z4 * c.z4 > 0.8
  WITHIN 12 minutes
)
ORDER BY na_at, eu_at, afr_at;
