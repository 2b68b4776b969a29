-- A table filled by the other clause: delay that builds up over three or more departures and is gone at the next one.
{{ config(materialized='table') }}
SELECT tailnum, since, worse_departures, peak
FROM {{ ref('flights') }} MATCH_RECOGNIZE (
  PARTITION BY tailnum
  ORDER BY dep
  MEASURES FIRST(strt.dep) AS since, COUNT(worse.*) AS worse_departures, MAX(worse.dep_delay) AS peak
  PATTERN (strt worse{3,} recovered)
  DEFINE worse AS dep_delay > PREV(dep_delay) + 10,
         recovered AS dep_delay <= 0
)
