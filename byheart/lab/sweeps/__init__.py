"""A question (how large must it be?) as many trials, and the answer that their rows give.

axes     sizes and ranges as a person writes them
sweep    the trials that a question needs, given the rows that are there
fields   what a row holds
rows     the append-only file of results
running  keeps an engine busy until nothing is wanted
results  what the rows say: smallest sizes, spread, what is censored
"""
