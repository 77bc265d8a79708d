"""Learners that are not loss x prior x algorithm: naive Bayes, SMO, the Winnow family, MFoM trees, softmax, LSI."""
