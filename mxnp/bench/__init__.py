"""Benchmarks: mxnp against NumPy and other array packages, in one run.

``python -m mxnp.bench --help`` tells how they are run. A suite is a list of cases
(`mxnp.bench.suites`), a case runs on several peers (`mxnp.bench.peers`), and a run
gives a report (`mxnp.bench.report`), shown as a table, pictures, JSON or Markdown.
"""
