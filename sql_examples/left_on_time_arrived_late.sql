-- question: Which flights left New York on time or early and still reached their gate two hours late or more?
--
-- The clause pairs each departure with the arrival of the same flight: equality of flight number, destination and date
-- between the two events. match_start and match_end are the times of the two.
--
-- order: most minutes lost first, then time of departure, carrier and flight number.
SELECT d.carrier AS carrier,
       d.flight AS flight,
       d.airport AS from_airport,
       a.airport AS to_airport,
       match_start AS left_at,
       match_end AS arrived_at,
       a.delay - d.delay AS minutes_lost
FROM flight_events MATCH PATTERN (
  SEQ(departure d, arrival a)
  PARTITION BY aircraft
  ORDER BY event_time
  WHERE d.flight = a.flight AND d.dest = a.dest AND d.flight_date = a.flight_date
    AND d.delay <= 0 AND a.delay >= 120
  WITHIN INTERVAL 24 HOURS
)
ORDER BY minutes_lost DESC, left_at, carrier, flight;
