"""filmgate keeps GPUs fed with video: index, feed, train, explain."""

__version__ = "0.1.0.dev0"
