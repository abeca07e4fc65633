CREATE TABLE sale (shop STRING, price INT);
CREATE VIEW takings AS SELECT shop, sum(price) AS total FROM sale GROUP BY shop;
