"""What the events mean: patches on JSON values, projections, views, and the systems built on them.

This package holds no code of its own; import the module that defines the name.
"""
