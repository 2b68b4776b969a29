-- question: Which flights (carrier, number and route) left more than an hour late on three calendar days in a row, and
--           how often?
--
-- Each window of three days counts, so the search goes on at the next row of the match: four such days are two windows.
-- PREV compares with the previous row of the flight; a day without the flight, or with a cancellation, breaks the run.
--
-- order: most windows first, then worst delay, carrier, flight, origin and destination.
SELECT carrier, flight, origin, dest,
       COUNT(*) AS windows,
       MIN(first_day) AS first_time,
       MAX(worst_delay) AS worst_delay
FROM flights MATCH_RECOGNIZE (
  PARTITION BY carrier, flight, origin, dest
  ORDER BY flight_date
  MEASURES FIRST(flight_date) AS first_day,
           MAX(dep_delay) AS worst_delay
  ONE ROW PER MATCH
  AFTER MATCH SKIP TO NEXT ROW
  PATTERN (late late_again{2})
  DEFINE late AS dep_delay > 60,
         late_again AS dep_delay > 60 AND flight_date = date_add(PREV(flight_date), 1)
)
GROUP BY carrier, flight, origin, dest
ORDER BY windows DESC, worst_delay DESC, carrier, flight, origin, dest
LIMIT 20;
