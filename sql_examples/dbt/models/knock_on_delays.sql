-- A view that holds the pattern: a late arrival, and a late departure of the same aircraft within 12 hours.
SELECT a.airport AS airport, a.event_time AS arrived, d.event_time AS departed, a.delay AS arrival_delay, d.delay AS departure_delay
FROM {{ ref('flight_events') }} MATCH PATTERN (
  SEQ(arrival a, departure d)
  EVENT TYPE event_type
  PARTITION BY aircraft
  ORDER BY event_time
  WHERE a.delay > 60 AND d.delay > 60
  WITHIN INTERVAL 12 HOURS
)
