"""The tests; a package so that benchmarks and child processes can import what they share."""
