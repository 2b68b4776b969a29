-- question: On which days did a carrier's operation at a New York airport break down: two of its aircraft leave three
--           hours late or more, for different destinations, and less than two hours after the first of them has left,
--           another flight is cancelled?
--
-- Two events of one type and one of another, with a comparison between the two. Every combination is a match, so the
-- cancelled flights are counted once each (DISTINCT).
--
-- order: most cancelled flights first, then most combinations, day, carrier and airport.
SELECT c.flight_date AS day,
       carrier,
       airport,
       COUNT(DISTINCT c.flight) AS cancelled_flights,
       COUNT(*) AS combinations
FROM flight_events MATCH PATTERN (
  SEQ(departure d1, departure d2, cancellation c)
  PARTITION BY carrier, airport
  ORDER BY event_time
  WHERE d1.delay >= 180 AND d2.delay >= 180 AND d1.aircraft <> d2.aircraft AND d1.dest <> d2.dest
  WITHIN INTERVAL 2 HOURS
)
GROUP BY c.flight_date, carrier, airport
ORDER BY cancelled_flights DESC, combinations DESC, day, carrier, airport
LIMIT 20;
