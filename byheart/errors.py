"""The errors a user can meet: bad input, an assumption that fails, a folder that disagrees."""


class ByheartError(ValueError):
    """Something the user gave cannot be used; the message is one sentence that says what to do."""


class AssumptionError(ByheartError):
    """An assumption (A1, A2, ...) of a construction or bound fails for this dataset.

    Attributes:
        smallest: The smallest limit that would do, where a limit is refused as too small.
    """

    def __init__(self, message: str, smallest: int | None = None) -> None:
        super().__init__(message)
        self.smallest = smallest


class DisagreementError(ByheartError):
    """A model folder is readable, but a hash or a count in it disagrees with the rest."""
