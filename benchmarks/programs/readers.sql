WITH v AS MATERIALIZED (SELECT a.x, a.y, b.z FROM a JOIN b ON a.y = b.y)
SELECT x, 1 FROM v JOIN k USING (z) WHERE kind = 1
UNION SELECT x, 2 FROM v JOIN k USING (z) WHERE kind = 2
UNION SELECT x, 3 FROM v JOIN k ON k.z = v.y WHERE kind = 3
UNION SELECT x, 4 FROM v JOIN k ON k.z = v.y JOIN k l ON l.z = v.z WHERE k.kind = 4 AND l.kind = 4
UNION SELECT y, 5 FROM v JOIN k ON k.z = v.x WHERE kind = 5
UNION SELECT v.z, 6 FROM v JOIN k ON k.z = v.x WHERE kind = 6
