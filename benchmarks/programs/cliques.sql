SELECT a.x, a.y, b.y, c.y FROM arc a JOIN arc b ON a.x = b.x JOIN arc d ON d.x = a.y AND d.y = b.y
    JOIN arc c ON a.x = c.x JOIN arc e ON e.x = a.y AND e.y = c.y JOIN arc f ON f.x = b.y AND f.y = c.y
