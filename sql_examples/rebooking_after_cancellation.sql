-- question: When a carrier cancels a flight, how many of its other flights to the same destination leave New York
--           within the next three hours, so that passengers could be rebooked?
--
-- Every pair of a cancellation and a later departure counts. The query asks for a count per partition column only, so
-- it can be answered without building a single match.
--
-- order: most pairs first, then carrier.
SELECT carrier, COUNT(*) AS ways_to_rebook
FROM flight_events MATCH PATTERN (
  SEQ(cancellation c, departure d)
  PARTITION BY carrier, dest
  ORDER BY event_time
  WITHIN INTERVAL 3 HOURS
)
GROUP BY carrier
ORDER BY ways_to_rebook DESC, carrier;
