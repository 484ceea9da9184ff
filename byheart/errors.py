"""The two errors a user can meet: bad input, and a theorem whose assumption fails."""


class ByheartError(ValueError):
    """Something the user gave cannot be used; the message is one sentence that says what to do."""


class AssumptionError(ByheartError):
    """An assumption (A1, A2, ...) of a construction or bound fails for this dataset."""


class DisagreementError(ByheartError):
    """A model folder is readable, but a hash or a count in it disagrees with the rest."""
