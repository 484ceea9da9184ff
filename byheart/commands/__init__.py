"""The user's commands as plain functions: Python values in, a JSON-ready dict out."""
