CREATE TABLE sale (id BIGINT, shop STRING, price BIGINT) USING parquet LOCATION '${SHOP_DATA}/sale';

CREATE VIEW takings AS SELECT shop, sum(price) AS total, count(*) AS sales FROM sale GROUP BY shop;
