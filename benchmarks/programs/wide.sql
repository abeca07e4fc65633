SELECT DISTINCT a1, a2, a3, a4, a5, b1, b2, b3, b4, b5 FROM a JOIN b ON a.k = b.k
