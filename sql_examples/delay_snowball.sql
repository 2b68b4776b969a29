-- question: Which aircraft left New York three times within 18 hours, each time with at least an hour more delay
--           than the time before, and already late the first time?
--
-- Three events of one type, with conditions that compare each departure with the one before it in the pattern. Other
-- departures of the aircraft may lie between them (skip till any match).
--
-- order: largest last delay first, then aircraft, first and second departure.
SELECT aircraft,
       match_start AS first_left_at,
       match_end AS last_left_at,
       d1.delay AS first_delay,
       d2.delay AS second_delay,
       d3.delay AS third_delay,
       d3.dest AS last_destination
FROM flight_events MATCH PATTERN (
  SEQ(departure d1, departure d2, departure d3)
  PARTITION BY aircraft
  ORDER BY event_time
  WHERE d1.delay > 0 AND d2.delay >= d1.delay + 60 AND d3.delay >= d2.delay + 60
  WITHIN INTERVAL 18 HOURS
)
ORDER BY third_delay DESC, aircraft, first_left_at, d2.event_time;
