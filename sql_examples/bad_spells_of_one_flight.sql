-- question: The daily flight HA 51 from New York to Honolulu: show each bad spell day by day (at least two days in a row
--           over 20 minutes late or cancelled), up to and including the first good day.
--
-- ALL ROWS PER MATCH keeps the input rows. CLASSIFIER() says which variable a day belongs to, MATCH_NUMBER() which
-- spell; the other two measures are running: they cover the spell up to the current row.
--
-- order: flight_date.
SELECT spell, flight_date, day_of_spell, verdict, dep_delay, worst_so_far
FROM (SELECT * FROM flights WHERE carrier = 'HA' AND flight = 51) MATCH_RECOGNIZE (
  ORDER BY flight_date
  MEASURES MATCH_NUMBER() AS spell,
           CLASSIFIER() AS verdict,
           RUNNING COUNT(*) AS day_of_spell,
           MAX(late.dep_delay) AS worst_so_far
  ALL ROWS PER MATCH
  AFTER MATCH SKIP PAST LAST ROW
  PATTERN ((late | cancelled){2,} good)
  DEFINE late AS dep_delay > 20,
         cancelled AS dep IS NULL,
         good AS dep_delay <= 20
)
ORDER BY flight_date;
