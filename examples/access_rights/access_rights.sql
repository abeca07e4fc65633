-- Who may do what: groups in groups, grants to either, and denials, which win over grants.
CREATE TABLE member (who STRING NOT NULL, team STRING NOT NULL, PRIMARY KEY (who, team));
CREATE TABLE permit (who STRING NOT NULL, what STRING NOT NULL, PRIMARY KEY (who, what));
CREATE TABLE denial (who STRING NOT NULL, what STRING NOT NULL, PRIMARY KEY (who, what));
CREATE TABLE person (who STRING PRIMARY KEY);

-- All that a person or team is a part of, itself included, through any number of teams.
CREATE VIEW part AS
    WITH RECURSIVE p AS (
        SELECT who, who AS team FROM person
        UNION
        SELECT p.who, m.team FROM p JOIN member m ON p.team = m.who)
    SELECT * FROM p;

CREATE VIEW may AS
    SELECT DISTINCT p.who, g.what
    FROM part p JOIN permit g ON p.team = g.who
    WHERE NOT EXISTS (
        SELECT 1 FROM part q JOIN denial d ON q.team = d.who
        WHERE q.who = p.who AND d.what = g.what);

CREATE VIEW reach AS SELECT what, count(*) AS people FROM may GROUP BY what;
