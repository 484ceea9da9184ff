"""A question (how large must it be?) as many trials, and the answer that their rows give.

axes     the sizes that vary and those that are fixed, checked
sweep    the trials that a question needs, given the rows that are there
fields   the fields of a row
rows     the append-only file of results
running  keeps an engine busy until nothing is wanted
results  smallest sizes, spread over seeds, and what is censored, from rows
"""
