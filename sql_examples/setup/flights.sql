-- The flights that left New York (EWR, JFK, LGA) in 2013, as a table and as a stream of events.
--
-- ${data} is the folder of flights.parquet: set it before this script runs,
--   spark.conf.set("data", "/path/to/sql_examples/data")     in Python, or
--   SET data=/path/to/sql_examples/data;                     in SQL.
-- Statements end with a semicolon at the end of a line; no comment or string contains one there.
--
-- Times are UTC. Dates are those of New York: the day on which a flight was scheduled to leave.

SET TIME ZONE 'UTC';

-- One row per flight. The key is (carrier, flight, sched_dep).
-- dep is NULL when the flight was cancelled, arr when it was cancelled or not recorded as arrived (diverted).
CREATE OR REPLACE TEMPORARY VIEW flights
USING parquet OPTIONS (path '${data}/flights.parquet');

-- One row per event:
--   departure     at the time it left,                 delay in minutes (negative: early)
--   arrival       at the time it reached its gate,     delay in minutes
--   cancellation  at the time it should have left,     delay is NULL, aircraft often too
-- airport is where the event happens. A diverted flight departs and never arrives.
CREATE OR REPLACE TEMPORARY VIEW flight_events AS
SELECT 'departure' AS event_type, dep AS event_time, origin AS airport, dep_delay AS delay,
       tailnum AS aircraft, carrier, flight, origin, dest, flight_date
FROM flights
WHERE dep IS NOT NULL
UNION ALL
SELECT 'arrival', arr, dest, arr_delay, tailnum, carrier, flight, origin, dest, flight_date
FROM flights
WHERE arr IS NOT NULL
UNION ALL
SELECT 'cancellation', sched_dep, origin, CAST(NULL AS INT), tailnum, carrier, flight, origin, dest, flight_date
FROM flights
WHERE dep IS NULL;
