-- question: From which addresses do series of wrong passwords come, as if somebody were guessing?
--
-- Application I of "Complex Event Analytics" (A-Seq): a user name, a password that is not that user's, and the submit
-- button, within 10 seconds and from one address. The password typed is compared with the one stored, so the answer is
-- computed from the matches.
--
-- order: most first, then address.
SELECT ip, COUNT(*) AS wrong_passwords
FROM logins MATCH PATTERN (
  SEQ(TypeUsername u, TypePassword p, ClickSubmit s)
  EVENT TYPE action
  PARTITION BY ip
  ORDER BY ts
  WHERE p.value <> u.password
  WITHIN 10 seconds
)
GROUP BY ip
HAVING COUNT(*) >= 3
ORDER BY wrong_passwords DESC, ip;
