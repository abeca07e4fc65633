-- Orders and their payments, which come late and out of order, as numbers on a wall.
CREATE TABLE orders (id INT PRIMARY KEY, customer STRING NOT NULL, amount DECIMAL(10, 2) NOT NULL, at TIMESTAMP LATENESS INTERVAL 2 HOURS);
CREATE TABLE payment (order_id INT NOT NULL, paid DECIMAL(10, 2) NOT NULL, at TIMESTAMP);

CREATE VIEW hourly AS
    SELECT window.start AS hour, count(*) AS orders, sum(amount) AS revenue
    FROM orders GROUP BY window(at, '1 hour');

CREATE VIEW open_orders AS
    SELECT o.id, o.customer, o.amount - coalesce(p.paid, 0) AS due
    FROM orders o LEFT JOIN (SELECT order_id, sum(paid) AS paid FROM payment GROUP BY order_id) p ON o.id = p.order_id
    WHERE o.amount > coalesce(p.paid, 0);

CREATE VIEW best AS
    SELECT customer, revenue FROM (
        SELECT customer, revenue, rank() OVER (ORDER BY revenue DESC) AS place
        FROM (SELECT customer, sum(amount) AS revenue FROM orders GROUP BY customer))
    WHERE place <= 2;
