"""What a network may claim about its data, and the plain values that all kinds of network share.

A claim is data: constructions return it with the network. What keeps, proves and stores it is in
the room of the kind of network: exact/, softmax/, stock/.
"""
