-- One row per flight that left New York in 2013.
SELECT * FROM parquet.`{{ var('data') }}/flights.parquet`
