-- question: Along which chains of shipments did food travel from a contaminated site within three hours?
--
-- Query 2 of SASE+: a closure of shipments, each from the site that the one before went to.
--
-- order: by the alert, then the chain.
SELECT a.site AS site, a.at AS alert_at,
       concat_ws(' > ', a.site, concat_ws(' > ', transform(b, s -> s.to_site))) AS chain,
       match_end AS last_shipment_at
FROM shipments MATCH PATTERN (
  SEQ(Alert a, Shipment+ b[])
  ORDER BY at
  WHERE skip_till_any_match(a, b[]) {
    a.kind = 'contaminated' AND b[1].from_site = a.site AND b[i].from_site = b[i-1].to_site }
  WITHIN 3 hours
)
ORDER BY alert_at, last_shipment_at, chain;
