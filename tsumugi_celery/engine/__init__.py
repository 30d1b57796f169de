"""Claim, resolve, publish, settle, and what keeps the ledger true in between."""
