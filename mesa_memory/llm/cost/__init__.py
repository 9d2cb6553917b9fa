"""The ledger, prices and budgets."""
