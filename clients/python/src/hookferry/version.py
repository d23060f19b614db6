"""The version of this package: the same as the service's."""

__version__ = "0.1.0"
