"""From the settings of an experiment to the arguments of each learner."""
