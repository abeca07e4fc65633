CREATE TABLE edge (x BIGINT, y BIGINT, length BIGINT);
CREATE VIEW distance AS
    WITH RECURSIVE d (x, d) AS (
        SELECT 0L, 0L FROM edge WHERE x = 0 OR y = 0
        UNION
        SELECT y, min(d + length) FROM d JOIN edge USING (x) WHERE y <> 0 GROUP BY y)
    SELECT * FROM d;
