-- question: When did a carrier's mean departure delay climb for four days or more in a row and then fall for three days
--           or more (a wave: the shape of a storm that comes and goes)?
--
-- The input of the clause is an ordinary aggregate, one row per carrier and day. The pattern is an upside-down V.
--
-- order: highest peak first, then carrier and first day.
WITH daily AS (
  SELECT carrier, flight_date, CAST(AVG(dep_delay) AS DECIMAL(6, 1)) AS mean_delay
  FROM flights
  WHERE dep IS NOT NULL
  GROUP BY carrier, flight_date
)
SELECT carrier, first_day, peak_day, last_day, days, start_delay, peak_delay, end_delay
FROM daily MATCH_RECOGNIZE (
  PARTITION BY carrier
  ORDER BY flight_date
  MEASURES FIRST(flight_date) AS first_day,
           LAST(rising.flight_date) AS peak_day,
           LAST(falling.flight_date) AS last_day,
           COUNT(*) AS days,
           strt.mean_delay AS start_delay,
           MAX(rising.mean_delay) AS peak_delay,
           MIN(falling.mean_delay) AS end_delay
  ONE ROW PER MATCH
  AFTER MATCH SKIP PAST LAST ROW
  PATTERN (strt rising{4,} falling{3,})
  DEFINE rising AS mean_delay > PREV(mean_delay),
         falling AS mean_delay < PREV(mean_delay)
)
ORDER BY peak_delay DESC, carrier, first_day;
