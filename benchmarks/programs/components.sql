WITH RECURSIVE b(x, y) AS (FROM arc UNION SELECT y, x FROM arc),
v(x, y) AS (FROM b UNION SELECT v.x, b.y FROM v JOIN b ON b.x = v.y) SELECT x, min(y) FROM v GROUP BY x
