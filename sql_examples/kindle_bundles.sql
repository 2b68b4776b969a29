-- question: How many users look at a Kindle, then at a case, then at a stylus within an hour, and how often?
--
-- Application II of "Complex Event Analytics" (A-Seq). The clause returns the count per user instead of the matches:
-- MEASURES, answered without building a single match.
--
-- order: one row.
SELECT COUNT(*) AS users, SUM(bundles) AS bundles, MAX(bundles) AS most_of_one_user
FROM shop_clicks MATCH PATTERN (
  SEQ(Kindle, KindleCase, Stylus)
  EVENT TYPE product
  PARTITION BY user_id
  ORDER BY ts
  WITHIN INTERVAL 1 HOUR
  MEASURES COUNT(*) AS bundles
);
