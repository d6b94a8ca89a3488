"""A steady load over half an hour and more: what moved meanwhile, and what that means."""
