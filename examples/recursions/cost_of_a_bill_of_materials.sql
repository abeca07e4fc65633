CREATE TABLE part (x BIGINT, work BIGINT);
CREATE TABLE needs (x BIGINT, y BIGINT, count BIGINT);
CREATE VIEW cost AS
    WITH RECURSIVE c (x, total) AS (
        SELECT x, work FROM part WHERE NOT EXISTS (SELECT 1 FROM needs n WHERE n.x = part.x)
        UNION
        SELECT p.x, p.work + sum(n.count * c.total)
        FROM part p JOIN needs n ON n.x = p.x LEFT JOIN c ON c.x = n.y
        GROUP BY p.x, p.work HAVING count(*) = count(c.x))
    SELECT * FROM c;
