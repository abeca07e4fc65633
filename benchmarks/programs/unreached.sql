WITH RECURSIVE v(x, y) AS (FROM arc UNION SELECT v.x, arc.y FROM v JOIN arc ON arc.x = v.y)
SELECT a.x, b.x FROM node a, node b WHERE NOT EXISTS (FROM v WHERE v.x = a.x AND v.y = b.x)
