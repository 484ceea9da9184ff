"""A trained network as a model that byheart certifies: for recall, verify and compare.

convert        trains a trial again and makes its model
folded         madden2024, dana2024 and dana2024-mlp: the network as a Decoder
distributions  what a Decoder claims: distributions within a gap
rounded        kajitsuka2025: the network as a Network of weights with few bits
readout        from its logits to the number of a label, exactly
labels         what a Network claims: labels, proved
made           what the model folder records of the training
"""
