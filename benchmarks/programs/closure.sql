WITH RECURSIVE v(x, y) AS (FROM arc UNION SELECT v.x, arc.y FROM v JOIN arc ON arc.x = v.y) FROM v
