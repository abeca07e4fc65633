SELECT a.x, b.x, c.x, d.x FROM arc a JOIN arc b ON a.y = b.x JOIN arc c ON b.y = c.x JOIN arc d ON c.y = d.x AND d.y = a.x
