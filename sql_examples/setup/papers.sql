-- The small generated streams of the papers' example queries: see data/prepare_papers.py.
--
-- ${data} is the folder of the parquet files, as in flights.sql. Times have no zone; prices are cents.

-- RFID readings in a shop: event_type, tag_id, shelf_id (NULL away from shelves), read_at.
CREATE OR REPLACE TEMPORARY VIEW readings USING parquet OPTIONS (path '${data}/readings.parquet');

-- What patients took: event_type, name, medicine, amount, taken_at.
CREATE OR REPLACE TEMPORARY VIEW medicine USING parquet OPTIONS (path '${data}/medicine.parquet');

-- Alerts (kind, site) and shipments (from_site, to_site) of a supply chain, each with a time.
CREATE OR REPLACE TEMPORARY VIEW shipments USING parquet OPTIONS (path '${data}/shipments.parquet');

-- Ticks of five stocks: stock, region of the company, at, price, lot, history (the last five prices).
CREATE OR REPLACE TEMPORARY VIEW stocks USING parquet OPTIONS (path '${data}/stocks.parquet');

-- Trades of two stocks: type, symbol, at, price, volume.
CREATE OR REPLACE TEMPORARY VIEW trades USING parquet OPTIONS (path '${data}/trades.parquet');

-- The Pearson correlation of two price histories: an ordinary function over arrays.
CREATE OR REPLACE TEMPORARY FUNCTION pearson(x ARRAY<DOUBLE>, y ARRAY<DOUBLE>) RETURNS DOUBLE
RETURN (
  size(x) * aggregate(zip_with(x, y, (p, q) -> p * q), 0D, (s, v) -> s + v)
    - aggregate(x, 0D, (s, v) -> s + v) * aggregate(y, 0D, (s, v) -> s + v)
) / nullif(
  sqrt(size(x) * aggregate(x, 0D, (s, v) -> s + v * v) - power(aggregate(x, 0D, (s, v) -> s + v), 2))
    * sqrt(size(y) * aggregate(y, 0D, (s, v) -> s + v * v) - power(aggregate(y, 0D, (s, v) -> s + v), 2)),
  0D
);
