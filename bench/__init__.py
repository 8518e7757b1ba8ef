"""What came out: grids, intervals, tables, speed."""
