-- question: Which aircraft fell further behind on three or more departures in a row, by over 10 minutes each time, and
--           then left on time again at the very next one, without ever standing still for a day?
--
-- The clause reads an aircraft's departures in time order: any departure, then three or more that are each over 10
-- minutes later than the one before (PREV), then one that is not late; each less than 24 hours after the one before.
-- The measures give the start, the length of the climb, its peak and how many minutes the next turn made good.
--
-- order: highest peak first, then aircraft and first departure.
SELECT tailnum, first_departure, worse_departures, peak_delay, peak_destination, recovered_at, minutes_made_good
FROM (SELECT * FROM flights WHERE dep IS NOT NULL) MATCH_RECOGNIZE (
  PARTITION BY tailnum
  ORDER BY dep
  MEASURES FIRST(strt.dep) AS first_departure,
           COUNT(worse.*) AS worse_departures,
           LAST(worse.dep_delay) AS peak_delay,
           LAST(worse.dest) AS peak_destination,
           LAST(dep) AS recovered_at,
           LAST(worse.dep_delay) - LAST(recovered.dep_delay) AS minutes_made_good
  ONE ROW PER MATCH
  AFTER MATCH SKIP PAST LAST ROW
  PATTERN (strt worse{3,} recovered)
  DEFINE worse AS dep_delay > PREV(dep_delay) + 10 AND dep < PREV(dep) + INTERVAL 24 HOURS,
         recovered AS dep_delay <= 0 AND dep < PREV(dep) + INTERVAL 24 HOURS
)
ORDER BY peak_delay DESC, tailnum, first_departure;
