"""A trained network as a model that byheart certifies: for recall, verify and compare.

convert        trains a trial again and makes its model
folded         decoders of one layer: the network as a Decoder
distributions  the model of a Decoder: distributions within a gap
rounded        kajitsuka2025: the network as a Network of weights with few bits
readout        from its logits to the number of a label, exactly
labels         the model of a Network: labels, proved
trained        what the model folder records of the training
"""
