"""Learners that are not loss x prior x algorithm: naive Bayes, the SVM with a free threshold, Winnow."""
