"""The lab: train architectures, and measure how much they hold. The only code that needs torch.

problem    a dataset as training sees it: every context once, with what follows it
learners/  the architectures of the papers, with gradients written by hand
protocol   how a model is trained: the authors' way, or ours
trial      one training run: its configuration, its seed, its row
train      runs a trial
rows       the append-only file of results
sweep      which trials a question needs, given the rows that are there
engines/   where trials run: processes of this machine, or a Ray cluster
results    what the rows say: smallest sizes, spread, what is censored
convert    a trained model as one that byheart certifies
           folded, distributions: a Decoder; rounded, readout, labels: a Network; made: its record
"""
