"""Exhaustive models of the machines whose races no test run can be trusted to meet."""
