"""Checks of output paths, under the name by which other commands know them."""

from ..machine.files import refuse_existing as refuse_existing
