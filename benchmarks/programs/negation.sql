FROM arc WHERE y NOT IN (SELECT x FROM arc) AND y NOT IN (FROM blocked)
