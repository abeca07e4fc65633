WITH one AS (SELECT DISTINCT x, y FROM arc WHERE x IN (FROM mark)),
two AS (SELECT DISTINCT one.x, arc.y FROM one JOIN arc ON arc.x = one.y)
SELECT DISTINCT two.x, arc.y FROM two JOIN arc ON arc.x = two.y WHERE arc.y IN (FROM mark)
