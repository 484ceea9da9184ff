"""The engine of the constructions that retrieve labels from stored numbers by a hash.

problem   dataset to contexts, labels and their code words
hashing   a context to one integer, its hash
plan      what a plan, its layout and its solved numbers have in common; their counts and balance
solve     the stored numbers: a linear system over GF(2) per bit position
gf2       linear systems over GF(2), factored
search    plan, hash and stored numbers within limits
assemble  the parts of the network that all of them share
holders   where a finished network keeps its answers

A family of plans and its limits belong to a construction: hash_fold_retrieve (no limits) and
limited_bits (short parameters, doubles).
"""
