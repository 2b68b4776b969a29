-- question: After an hour in which at least half of an airport's departures were cancelled, how many hours of operation
--           pass until it runs normally for two hours in a row, and how many flights are cancelled until then?
--
-- Normal: no cancellation, and at most one flight in five more than an hour late. The variable slow is not defined, so
-- it takes any hour; its quantifier is reluctant, so the match ends with the first two normal hours. Hours without a
-- scheduled departure (nights) have no row and are not counted.
--
-- order: airport, then the hour of the stop.
WITH hourly AS (
  SELECT origin AS airport,
         date_trunc('HOUR', sched_dep) AS hour_start,
         COUNT(*) AS scheduled,
         COUNT(*) - COUNT(dep) AS cancelled,
         COUNT_IF(dep_delay > 60) AS very_late
  FROM flights
  GROUP BY origin, date_trunc('HOUR', sched_dep)
)
SELECT airport, stopped_at, normal_at, hours_to_recover, cancelled_flights
FROM hourly MATCH_RECOGNIZE (
  PARTITION BY airport
  ORDER BY hour_start
  MEASURES stopped.hour_start AS stopped_at,
           FIRST(normal.hour_start) AS normal_at,
           COUNT(slow.*) + 1 AS hours_to_recover,
           SUM(cancelled) AS cancelled_flights
  ONE ROW PER MATCH
  AFTER MATCH SKIP PAST LAST ROW
  PATTERN (stopped slow*? normal{2})
  DEFINE stopped AS scheduled >= 5 AND cancelled * 2 >= scheduled,
         normal AS cancelled = 0 AND very_late * 5 <= scheduled
)
ORDER BY airport, stopped_at;
