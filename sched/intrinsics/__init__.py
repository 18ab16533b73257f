"""Intrinsics: small computations that one instruction, or one function of the user's own, does at once."""
