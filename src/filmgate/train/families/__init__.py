"""Known video models as tasks: each factory here is a name for ``factory`` in [model].

The libraries that bring them are the extra ``video``; they are imported when a factory is called.
Weights come from a folder on this machine or are drawn from the seed, never from a hub.
"""
