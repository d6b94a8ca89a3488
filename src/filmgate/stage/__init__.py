"""The needed part of a catalog on a faster tier: verified by content, resumable, within a budget.

``stage.stage_videos`` copies videos from mounted storage or an object store into a folder that is
a catalog of the same videos, each read where it is fastest: hot when it is there, cold otherwise.
"""
