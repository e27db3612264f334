"""The evaluator: data sets, baselines, the paper's protocol, measures and reports.

What is here needs the extra ``evaluation`` (``pip install cptw-search[evaluation]``); nothing of it is imported by the
rest of the package.
"""

__all__: list[str] = []
