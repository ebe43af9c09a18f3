"""What the tests, the demo and the benchmarks share: real clusters, sample records, deadlines."""
