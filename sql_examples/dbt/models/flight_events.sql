-- One row per departure and arrival.
SELECT 'departure' AS event_type, dep AS event_time, origin AS airport, dep_delay AS delay, tailnum AS aircraft
FROM {{ ref('flights') }}
WHERE dep IS NOT NULL
UNION ALL
SELECT 'arrival', arr, dest, arr_delay, tailnum
FROM {{ ref('flights') }}
WHERE arr IS NOT NULL
