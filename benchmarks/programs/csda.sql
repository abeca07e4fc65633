WITH RECURSIVE v(x, y) AS (FROM "null" UNION SELECT v.x, arc.y FROM v JOIN arc ON arc.x = v.y) FROM v
