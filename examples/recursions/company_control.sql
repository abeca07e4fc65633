CREATE TABLE owns (who BIGINT, whom BIGINT, percent BIGINT);
DECLARE RECURSIVE VIEW controls (who BIGINT, whom BIGINT);
CREATE VIEW controls AS
    SELECT who, whom
    FROM (SELECT who, whom, percent FROM owns
          UNION ALL
          SELECT c.who, o.whom, o.percent FROM controls c JOIN owns o ON c.whom = o.who WHERE c.who <> c.whom)
    GROUP BY who, whom HAVING sum(percent) > 50;
