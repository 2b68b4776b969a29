-- question: Where did a price, starting from a large trade, stay above the running mean of its rise until the volume plummeted?
--
-- Query 3 of SASE+ as printed, with ORDER BY: a closure that takes events above its running mean and skips the rest.
--
-- order: by the drop, then the start.
SELECT b.symbol AS symbol, match_start AS started_at, match_end AS dropped_at, size(a) AS trades,
       a[0].price AS first_price, element_at(a, -1).price AS last_price,
       element_at(a, -1).volume AS last_volume, b.volume AS dropped_to
FROM trades MATCH PATTERN (
  SEQ(Stock+ a[], Stock b)
  ORDER BY at
  WHERE skip_till_next_match(a[], b) {
    [symbol]
    and a[1].volume > 1000
    and a[i].price > avg(a[..i-1].price)
    and b.volume < 0.8 * a[a.LEN].volume }
  WITHIN 1 hour
)
ORDER BY dropped_at, started_at, trades;
