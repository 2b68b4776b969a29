-- question: What is each carrier's longest streak of on-time departures (at most 15 minutes late) in a row?
--
-- The clause reads a carrier's flights in order of schedule and returns one row per streak. A cancelled flight has no
-- dep_delay, so the condition does not hold: the streak ends. A window function keeps the longest (the earliest in case of a tie).
--
-- order: longest streak first, then carrier.
SELECT carrier, departures, first_departure, last_departure, mean_delay
FROM (
  SELECT *, ROW_NUMBER() OVER (PARTITION BY carrier ORDER BY departures DESC, first_departure) AS place
  FROM flights MATCH_RECOGNIZE (
    PARTITION BY carrier
    ORDER BY sched_dep, flight
    MEASURES COUNT(*) AS departures,
             FIRST(on_time.sched_dep) AS first_departure,
             LAST(on_time.sched_dep) AS last_departure,
             CAST(AVG(on_time.dep_delay) AS DECIMAL(6, 1)) AS mean_delay
    ONE ROW PER MATCH
    AFTER MATCH SKIP PAST LAST ROW
    PATTERN (on_time+)
    DEFINE on_time AS dep_delay <= 15
  )
)
WHERE place = 1
ORDER BY departures DESC, carrier;
