SELECT a.x, a.y, b.y FROM arc a JOIN arc b ON a.y = b.x JOIN arc c ON c.x = a.x AND c.y = b.y
