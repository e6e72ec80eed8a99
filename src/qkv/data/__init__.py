"""Small data that the book works on: the running example and real word vectors."""

from qkv.data.running_example import RunningExample, running_example

__all__ = ["RunningExample", "running_example"]
