"""The lab: train architectures, and measure how much they hold. The only code that needs torch.

One training run:

problem    a dataset as training sees it: every context once, with what follows it
material   a dataset, and the problems that its beginnings pose
protocol   how a model is trained: the authors' way, or ours
trial      one training run: its configuration, its seed, its row
train      runs a trial; descent is one attempt, tuning lets Optuna choose how to make it
memory     what a trial needs, before it starts
learners/  the architectures of the papers, with gradients written by hand

Many of them:

sweeps/    which trials a question needs, the file of their rows, and what the rows say
engines/   where trials run: processes of this machine, or a Ray cluster

What comes out:

certified/ a trained network as a model that byheart verifies
"""
