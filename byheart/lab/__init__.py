"""The lab: train architectures, and measure how much they hold. The only code that needs torch.

One training run:

problem    a dataset as training sees it: every context once, with the counts of its answers
material   a dataset, and the problems that its prefixes pose
protocol   how a model is trained: the authors' way, or ours
trial      one training run: its configuration, its seed, the memory it needs
train      runs a trial; descent is one attempt, tuning searches for hyper-parameters
learners/  the architectures of the papers, with gradients written by hand

Many of them:

measuring  byheart.measure: the smallest size that memorises
sweeps/    the trials that a question needs, the file of their rows, and results from rows
workers    trains what a sweep lacks
engines/   where trials run: processes of this machine, or a Ray cluster

The result:

certified/ a trained network as a model that byheart verifies
"""
