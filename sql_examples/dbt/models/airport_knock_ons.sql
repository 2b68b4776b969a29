-- Plain SQL over the view: it does not know that there is a pattern underneath.
{{ config(materialized='table') }}
SELECT airport, COUNT(*) AS knock_ons, CAST(AVG(departure_delay) AS DECIMAL(6, 1)) AS mean_departure_delay
FROM {{ ref('knock_on_delays') }}
GROUP BY airport
