"""What is looked at beside the measures of every run: for a figure, or for a remark that a paper makes."""
