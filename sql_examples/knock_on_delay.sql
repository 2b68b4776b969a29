-- question: An aircraft reaches an airport more than an hour late and, within the next 12 hours, leaves New York more
--           than an hour late. From which airports do delays come back to New York most often, and how large are they?
--
-- The clause finds every pair of a late arrival and a later late departure of one aircraft less than 12 hours apart
-- (one arrival may delay two departures: that is two pairs). The flight in between, back to New York, is not in the
-- data, which holds departures from New York only. The rest is plain SQL over the matched events.
--
-- order: most pairs first, then airport.
SELECT a.airport AS airport,
       COUNT(*) AS knock_ons,
       CAST(AVG(d.delay) AS DECIMAL(6, 1)) AS mean_departure_delay
FROM flight_events MATCH PATTERN (
  SEQ(arrival a, departure d)
  EVENT TYPE event_type
  PARTITION BY aircraft
  ORDER BY event_time
  SKIP TILL ANY MATCH
  WHERE a.delay > 60 AND d.delay > 60
  WITHIN INTERVAL 12 HOURS
)
GROUP BY a.airport
ORDER BY knock_ons DESC, airport
LIMIT 15;
