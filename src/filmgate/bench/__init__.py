"""What this machine really gives: one module for each part, each told as a ``BenchPart``.

Nothing is imported here: storage and memory start without torch.
"""
