"""Benchmarks of mxnp against NumPy and other array packages.

``python -m mxnp.bench --help`` describes the command. A suite is a list of cases
(`mxnp.bench.suites`). Each case runs on several peers (`mxnp.bench.peers`). The result
is a report (`mxnp.bench.report`), shown as tables, charts, JSON or Markdown.
"""
