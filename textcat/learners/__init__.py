"""Learners that are not loss x prior x algorithm: naive Bayes, SMO, Winnow, MFoM trees, softmax, LSI."""
