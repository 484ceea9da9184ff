"""The rows of work that came after the three papers.

Only abstracts were read, as each row says: all of them are rates, without a value. docs/bounds.md
says what they mean for the networks here.
"""

from .item import items
from .related import SEPARATED

ITEMS = items("after", YANG_ENOUGH=(None, SEPARATED), YANG_NEEDED=(None, SEPARATED))
